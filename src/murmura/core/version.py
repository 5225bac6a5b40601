"""The version of this package, for every room to write down."""

__version__ = "0.1.0"
