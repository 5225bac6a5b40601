"""Metrics and the tests between them: pure functions of lists and held-out rows."""
