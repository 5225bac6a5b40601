"""What a release has: a lock with hashes, bills of materials, a wheel that two builds agree on, SECURITY.md."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCK = ROOT / "locks" / "serve.txt"
PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")


def wanted() -> list[Requirement]:
    return [Requirement(one) for one in PROJECT["dependencies"] + PROJECT["optional-dependencies"]["serve"]]


def locked(file: Path = LOCK) -> dict[str, list[tuple[Requirement, int]]]:
    """Each package of the lock: its pinned versions, for which platforms, and with how many hashes."""
    entries: dict[str, list[tuple[Requirement, int]]] = {}
    text = re.sub(r"^ *#.*\n", "", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for entry in re.split(r"\n(?! )", text.strip()):
        requirement, *hashes = entry.replace("\\\n", "\n").split("--hash=sha256:")
        assert all(re.fullmatch(r"[0-9a-f]{64}", one.strip()) for one in hashes)
        one = Requirement(requirement.strip())
        entries.setdefault(canonicalize_name(one.name), []).append((one, len(hashes)))
    return entries


def pinned(one: Requirement) -> Version:
    (pin,) = one.specifier
    assert pin.operator == "=="
    return Version(pin.version)


def test_the_lock_pins_everything_a_server_declares_within_its_bounds_and_with_hashes() -> None:
    lock = locked()
    for wish in wanted():
        assert all(pinned(one) in wish.specifier for one, _ in lock[canonicalize_name(wish.name)]), wish
    assert all(hashes > 0 for versions in lock.values() for _, hashes in versions)


def missing_from(lock: dict[str, list[tuple[Requirement, int]]]) -> set[str]:
    """What packages of the lock need here and the lock does not have, as installed packages say."""
    here = {str(name): str(value) for name, value in default_environment().items()} | {"extra": ""}
    missing = set()
    for versions in lock.values():
        if not any(one.marker is None or one.marker.evaluate() for one, _ in versions):
            continue
        for text in importlib.metadata.distribution(versions[0][0].name).requires or ():
            need = Requirement(text)
            if (need.marker is None or need.marker.evaluate(here)) and canonicalize_name(need.name) not in lock:
                missing.add(need.name)
    return missing


def test_the_lock_has_what_its_packages_need_themselves() -> None:
    lock = locked()
    assert missing_from(lock) == set()
    del lock["cffi"]
    assert missing_from(lock) == {"cffi"}


def test_the_bills_of_materials_name_what_is_locked() -> None:
    folder = ROOT / "build" / "sbom"
    if not (folder / "page.json").exists():
        pytest.skip("needs build/sbom: run `make sbom`")
    server = json.loads((folder / "serve.json").read_text(encoding="utf-8"))
    page = json.loads((folder / "page.json").read_text(encoding="utf-8"))
    assert {one["bomFormat"] for one in (server, page)} == {"CycloneDX"}
    listed = {(canonicalize_name(one["name"]), one["version"]) for one in server["components"]}
    assert listed == {(name, str(pinned(one))) for name, versions in locked().items() for one, _ in versions}
    declared = json.loads((ROOT / "web" / "package.json").read_text(encoding="utf-8"))["dependencies"]
    names = {"/".join([*filter(None, [one.get("group")]), one["name"]]) for one in page["components"]}
    assert set(declared) <= names


@pytest.mark.process
@pytest.mark.slow
def test_two_builds_of_one_commit_are_the_same_bytes(tmp_path: Path) -> None:
    command = ["git", "ls-files", "-z"]
    files = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    wheels = []
    for name, mode in (("first", 0o644), ("second", 0o600)):
        clone, folder = tmp_path / name, tmp_path / f"{name}-wheel"
        for file in filter(None, files):
            (clone / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / file, clone / file)  # with other times than in the first
            (clone / file).chmod(mode)
        flags = ("--no-deps", "--no-build-isolation", "--wheel-dir", folder)
        environment = {key: value for key, value in os.environ.items() if key != "SOURCE_DATE_EPOCH"}
        subprocess.run([*PIP, "wheel", *flags, clone], check=True, env=environment)
        (wheel,) = folder.glob("*.whl")
        wheels.append(wheel.read_bytes())
    assert wheels[0] == wheels[1]


def test_young_dependencies_are_named_with_the_bounds_that_are_declared() -> None:
    page = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([^`]+)` \| `([^`]+)` \|", page, re.MULTILINE))
    python = {one.name: one.specifier for one in wanted()}
    web = json.loads((ROOT / "web" / "package.json").read_text(encoding="utf-8"))["dependencies"]
    assert {"cryptography", "httptools", "@hpke/core"} <= set(rows)
    for name, bound in rows.items():
        assert (Requirement(f"x{bound}").specifier == python[name]) if name in python else (bound == web[name])
    assert f"| {'.'.join(PROJECT['version'].split('.')[:2])} | yes |" in page
