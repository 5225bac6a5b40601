"""A run folder becomes one self-contained page, tables and plots."""

from murmura.report.pages.build import build

__all__ = ["build"]
