"""Public data sets, one file each: whose they are, where they lie, how they are read."""
