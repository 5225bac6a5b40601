"""Choosing settings on the validation part: grids, ranges, trials and their folder."""
