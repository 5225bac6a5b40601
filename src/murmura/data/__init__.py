"""A file becomes interactions, then a split. One file per source."""
