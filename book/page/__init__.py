"""What runs in a reader's browser, for any lesson."""
