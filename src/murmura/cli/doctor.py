"""`murmura doctor`: is everything here that should be, and what is not."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import sys
from importlib import metadata
from pathlib import Path

import typer

from murmura.cli import options
from murmura.cli.console import plain, table

EXTRA = re.compile(r"""extra == ['"]([\w.-]+)['"]""")  # of a line of what a package requires
NAME = re.compile(r"[^\w.-]")


def doctor(data_dir: options.DataDir = None, as_json: options.Json = False) -> None:
    """Check Python, the parts Murmura is built on, the optional parts, the data folder and the disk."""
    needs = _needs()
    checks = [
        ("python", platform.python_version(), "" if sys.version_info >= (3, 11) else "use Python 3.11 or later")
    ]
    for part in needs[""]:
        version = _version(part)
        checks.append((part, version or "missing", "" if version else f"pip install {part}"))
    for extra in filter(None, needs):
        here = all(map(_version, needs[extra]))
        advice = "" if here else f"pip install 'murmura[{extra}]'"
        checks.append((f"extra {extra}", "installed" if here else "not installed", advice))
    free, writable = shutil.disk_usage(".").free / 2**30, os.access(".", os.W_OK)
    state, advice = ("writable", "") if writable else ("missing", "runs/ needs a writable folder")
    checks += _data(data_dir)
    checks.append(("disk", f"{free:.0f} GiB free", "" if free > 1 else "free at least 1 GiB"))
    checks.append(("current folder", state, advice))
    if as_json:
        for name, state, advice in checks:
            typer.echo(json.dumps({"check": name, "state": state, "advice": advice}))
    else:
        rows = [list(map(plain, check)) for check in checks]
        table("doctor", ["check", "state", "what to do"], rows, text=True)
    if any(state == "missing" for _, state, _ in checks):
        raise typer.Exit(1)


def _needs() -> dict[str, list[str]]:
    """The parts of every extra, and under "" of every installation, from what the package says of itself."""
    about = metadata.metadata("murmura")
    needs: dict[str, list[str]] = {extra: [] for extra in ("", *(about.get_all("Provides-Extra") or []))}
    for line in about.get_all("Requires-Dist") or []:
        extra = EXTRA.search(line)
        needs.setdefault(extra[1] if extra else "", []).append(NAME.split(line, maxsplit=1)[0])
    return needs


def _version(part: str) -> str | None:
    try:
        return metadata.version(part)
    except metadata.PackageNotFoundError:
        return None


def _data(data_dir: Path | None) -> list[tuple[str, str, str]]:
    from murmura.data.sources.registry import every_source

    if data_dir is None:
        return [
            ("data folder", "not set", "set MURMURA_DATA or give --data-dir; the embedded data needs neither")
        ]
    if not data_dir.is_dir():
        return [("data folder", "missing", f"{data_dir} is not a folder")]
    here = [
        name for name, source in every_source().items() if source.files and (data_dir / source.name).is_dir()
    ]
    return [("data folder", str(data_dir), f"holds {', '.join(here) or 'no known data set'}")]
