"""Sums of few rows of many: keys of point functions over bins, their sizes, their compiled expansion."""
