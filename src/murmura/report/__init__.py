"""A run folder becomes one self-contained page, tables and plots."""

from murmura.report.build import build

__all__ = ["build"]
