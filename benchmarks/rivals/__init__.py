"""Scripts of rivals that run in environments of their own."""
