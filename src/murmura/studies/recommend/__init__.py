"""Recommendations to one person, by any run."""
