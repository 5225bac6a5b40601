"""A run folder becomes one self-contained page, tables and plots."""

from murmura.report.pages.comparison import build
from murmura.report.pages.search import build_search

__all__ = ["build", "build_search"]
