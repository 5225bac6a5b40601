"""A run folder becomes one self-contained page, tables and plots."""

from murmura.report.page import build

__all__ = ["build"]
