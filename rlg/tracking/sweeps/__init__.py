"""What a sweep leaves behind, and what can be read from it."""
