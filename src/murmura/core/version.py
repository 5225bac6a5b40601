"""The version of this package, and the warning for a name of an earlier version."""

import warnings

__version__ = "0.2.0"


def renamed(old: str, new: str, until: str) -> str:
    """The new name, after a warning that tells it and the version without the old one."""
    message = f"'{old}' is called '{new}' now; version {until} no longer knows the old name."
    warnings.warn(message, DeprecationWarning, stacklevel=3)
    return new
