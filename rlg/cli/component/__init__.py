"""`rlg test-component`: its words, what they name, and what it prints."""
