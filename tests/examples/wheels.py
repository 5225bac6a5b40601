"""A pure Python package becomes a wheel and is installed by pip, without a network or a build tool."""

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path


def build_wheel(project: Path, folder: Path) -> Path:
    """What a build tool makes of the project's pyproject.toml: its modules, its metadata, its entry points."""
    about = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))
    name, version = about["project"]["name"], about["project"]["version"]
    plain = name.replace("-", "_")
    info = f"{plain}-{version}.dist-info"
    groups = about["project"]["entry-points"]
    entries = [
        line for group in groups for line in (f"[{group}]", *(f"{n} = {p}" for n, p in groups[group].items()))
    ]
    files = {
        **{
            one: (project / one).read_text("utf-8")
            for one in about["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
        },
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "\n".join(entries) + "\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{one},,\n" for one in [*files, f"{info}/RECORD"])
    wheel = folder / f"{plain}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for one, text in files.items():
            archive.writestr(one, text)
    return wheel


def install(project: Path, folder: Path) -> Path:
    """The folder that pip has installed the project into."""
    site = folder / "site"
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--no-index",
    ]
    wheel = build_wheel(project, folder)
    done = subprocess.run([*command, "--target", site, wheel], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return site
