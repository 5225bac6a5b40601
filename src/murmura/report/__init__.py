"""A run folder becomes one self-contained page, tables and plots."""

from murmura.report.page import build
from murmura.report.search_page import build_search

__all__ = ["build", "build_search"]
