"""Neighbours of items from sums that follow a history, not the catalogue. Ours."""
