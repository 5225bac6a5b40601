"""Compiled loops. Each has a plain twin it is tested against."""
