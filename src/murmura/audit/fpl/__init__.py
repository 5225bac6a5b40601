"""Attacks on the updates of FPL."""
