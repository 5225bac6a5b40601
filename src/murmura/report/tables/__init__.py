"""The tables of a page, and the one table type with its five formats."""
