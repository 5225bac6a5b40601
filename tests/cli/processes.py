"""The command line as a user meets it: a real process."""

import os
import subprocess
import sys
from pathlib import Path


def murmura(*arguments: str, cwd: Path, data_dir: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key != "MURMURA_DATA"}
    if data_dir is not None:
        environment["MURMURA_DATA"] = str(data_dir)
    command = [sys.executable, "-c", "from murmura.cli.app import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment, check=False)


def ratings(folder: Path, users: int = 30, items: int = 40) -> Path:
    """A CSV of two taste groups, twelve rows each."""
    lines = ["user,item,rating,time"]
    for user in range(users):
        for step in range(12):
            item = (user % 2) * items // 2 + (user // 2 + step * 3) % (items // 2)
            lines.append(f"u{user:02d},m{item:02d},{1 + (user + step) % 5},{1000 + step}")
    path = folder / "ratings.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
