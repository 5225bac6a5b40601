"""Packages of somebody else, as pip leaves them: a module, and a folder that names their entry points."""

from pathlib import Path


def install(folder: Path, package: str, code: str, **groups: dict[str, str]) -> None:
    """Put a package into a folder: `install(site, "theirs", code, baselines={"their-pop": "TheirPop"})`."""
    module = package.replace("-", "_")
    (folder / f"{module}.py").write_text(code, encoding="utf-8")
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", encoding="utf-8")
    lines = [
        line
        for group, entries in groups.items()
        for line in (f"[murmura.{group}]", *(f"{name} = {module}:{place}" for name, place in entries.items()))
    ]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
