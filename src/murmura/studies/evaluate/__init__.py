"""The test part, opened for a choice of finished runs."""
