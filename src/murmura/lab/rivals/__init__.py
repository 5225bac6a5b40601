"""Rivals that only the tables of papers need: of ratings, of contents, and one of neural filtering."""
