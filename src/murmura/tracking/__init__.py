"""Runs told to an experiment tracker, from what their folders hold: `--log mlflow:URI`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from murmura.core.errors import MissingExtraError, SettingError

if TYPE_CHECKING:
    from murmura.tracking.mlflow_tracker import MlflowTracker

# nobody else is told, and an address where nobody is fails in seconds instead of minutes
QUIETLY = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2"}


def tracker(target: str) -> MlflowTracker | None:
    """Who is told, by what --log says; None: nobody. Refuses before any work what cannot be told later."""
    if not target:
        return None
    kind, colon, uri = target.partition(":")
    if kind != "mlflow" or not colon or not uri:
        raise SettingError(
            f"--log must be mlflow:URI, but it is '{target}'; write for example --log mlflow:sqlite:///runs.db "
            "or --log mlflow:http://localhost:5000."
        )
    for key, value in QUIETLY.items():
        os.environ.setdefault(key, value)
    try:
        from murmura.tracking.mlflow_tracker import MlflowTracker
    except ImportError:
        raise MissingExtraError("--log mlflow", "mlflow") from None
    return MlflowTracker.connect(uri)
