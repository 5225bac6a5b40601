"""A run folder becomes one self-contained page, tables and plots."""
