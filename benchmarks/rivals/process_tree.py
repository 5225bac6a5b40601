"""The CPU seconds of a process and of all it has started, as Linux counts them."""

import os
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(root: int | None = None) -> float:
    """Of this process or another with everything below it; what has ended counts with who waited for it."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has just ended
            parents[int(folder.name)] = int(fields[1])
            ticks[int(folder.name)] = sum(map(int, fields[11:15]))
    tree, new = set[int](), {root or os.getpid()}
    while new:
        tree |= new
        new = {one for one, parent in parents.items() if parent in new} - tree
    return sum(ticks.get(one, 0) for one in tree) / TICKS
