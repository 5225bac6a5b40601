"""A setting at several values, for several models."""
