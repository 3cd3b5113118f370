"""What `rlg test-component` is asked: the component, its arguments, its spaces, the settings."""
