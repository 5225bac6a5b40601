"""Compiled loops. Each is tested against a plain reference implementation."""
