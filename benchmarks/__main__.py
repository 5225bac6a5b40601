"""Run the benchmarks, or the named ones; print them with machine, commit and date; `--write` keeps the page.

`--core` runs what must not become slower, under three minutes on two idle cores; its table is a small CSV file.
"""

import argparse
import csv
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.sides import Benchmark, Measured

FEDERATED = ("sfpl", "sfpl+", "pfpl+", "workers", "loop", "fcf", "fcf-paper")
NAMES = (
    "bpr",
    "topk",
    "metrics",
    "loading",
    "cnmf:surprise",
    "cnmf:linear",
    "fedsplit:grouping",
    "fedsplit:table3",
    *(f"federated:{part}" for part in FEDERATED),
    *(f"fedavg:{part}" for part in ("round", "sums", "values", "vmap", "flower", "flower-2")),
    "per_client:flower",
    "per_client:pfl",
    "kgflex:train",
    "kgflex:gain",
    "channel:upload",
    "channel:seeds",
    "channel:vectors",
    *(f"protections:{part}" for part in ("shares-2", "shares-3", "masks", "masks-20", "masks-lost", "ckks")),
    "protections:paillier",
    *(f"sums:{part}" for part in ("device", "solve", "fit")),
    "scale",
    *(f"cluster:{part}" for part in ("round", "first", "wall", "driver", "sizes")),
    *(f"trust:{part}" for part in ("device", "seed", "vector")),
    *(
        f"proofs:{kind}{part}"
        for kind in ("", "noisy-")
        for part in ("device", "seed", "vector", "counts-seed", "counts-vector")
    ),
    *(f"catalogue:{part}{size}" for part in ("device", "seed", "check", "add") for size in ("", "-million")),
    *(f"federation:{part}" for part in ("round", "sampled", "memory", "before")),
)
ON_REQUEST = ("fedsplit:table3",)  # half an hour: run only when named
CORE = (
    "bpr",
    *(f"federated:{part}" for part in ("sfpl", "sfpl+", "pfpl+", "loop")),
    "topk",
    "metrics",
    *(f"channel:{part}" for part in ("upload", "seeds", "vectors")),
)
CORE_TABLE = Path(__file__).parent.parent / "docs" / "results" / "bench-core.csv"
MEASURED = """Measured by `python -m benchmarks --write`. Each line has CPU seconds of Murmura, those of a
rival, their ratio, the goal, peak memory (that of the rival) and quality (that of the rival)."""
PAGE = Path(__file__).parent.parent / "docs" / "results" / "bench.md"
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
TOOLS = ("murmura", "numpy", "numba", "torch", "implicit", "ranx")
HEAD = (
    "| benchmark | Murmura, CPU s | rival | rival, CPU s | ratio | goal | reached | peak MB | rival, peak MB "
    "| Murmura: quality | rival: quality |"
)


def row(name: str) -> tuple[str, bool]:
    """Run one benchmark: its line of the table, and whether the goal was reached."""
    from benchmarks.sides import Skipped, find, measure

    benchmark = find(name)
    try:
        found = measure(name, ["ours"] if benchmark.theirs is None else ["ours", "theirs"])
    except Skipped as why:
        return f"| {benchmark.title} | | {benchmark.rival} | | | | skipped | | | {why} | |", True
    mine, other = found[0], found[1] if len(found) > 1 else None
    quality = benchmark.judge(mine.answer, other and other.answer)
    if other is None:
        reached, goal, ratio = mine.seconds <= benchmark.goal, f"≤ {benchmark.goal:g} s", ""
    else:
        factor = speed(benchmark, mine) / speed(benchmark, other)
        reached, goal, ratio = factor >= benchmark.goal, f"≥ {benchmark.goal:g}", digits(factor)
    if benchmark.absolute:
        reached, goal = mine.seconds <= benchmark.goal, f"≤ {benchmark.goal:g} s"
    times = [rate(benchmark, side) if side else "" for side in (mine, other)]
    peaks = [f"{side.peak_mb:,.0f}" if side else "" for side in (mine, other)]
    cells = [benchmark.title, times[0], benchmark.rival, times[1], ratio, goal, "yes" if reached else "**no**"]
    return "| " + " | ".join([*cells, *peaks, *quality]) + " |", reached


def digits(factor: float) -> str:
    """Two digits where one would hide what counts."""
    return f"{factor:.1f}" if factor >= 1.5 else f"{factor:.2f}"


def speed(benchmark: "Benchmark", side: "Measured") -> float:
    """The work per second; where it is not counted both sides do the same."""
    return (1.0 if benchmark.work is None else benchmark.work(side.answer)) / side.seconds


def rate(benchmark: "Benchmark", side: "Measured") -> str:
    """Seconds, and the work per second where the benchmark counts it."""
    seconds = f"{side.seconds:.4f}"
    if benchmark.work is None:
        return seconds
    return f"{seconds} ({speed(benchmark, side) / 1e6:.2f} M {benchmark.unit}/s)"


def surroundings() -> list[str]:
    """Where and when the rows were measured."""
    from benchmarks import world

    where = Path(__file__).parent.parent
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=where, capture_output=True, text=True, check=False
    ).stdout.strip()
    model = next(
        (line.split(":")[1].strip() for line in _cpuinfo() if line.startswith("model name")), platform.machine()
    )
    tools = ", ".join(f"{name} {version(name)}" for name in TOOLS if find_spec(name) is not None)
    load = ", ".join(f"{x:.1f}" for x in os.getloadavg())
    return [
        f"- data: {world.name()}; one thread each; CPU seconds unless stated, median of five rounds in turn",
        "- peak memory is that of a side's own process, with Python, the libraries and the data",
        f"- machine: {model}, {os.cpu_count()} cores, load {load}; Python {platform.python_version()}; {tools}",
        f"- commit {commit or 'unknown'}, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
    ]


def _cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []


def usual() -> list[str]:
    """What runs when nothing is named."""
    return [name for name in NAMES if name not in ON_REQUEST]


def write_core(lines: list[str]) -> None:
    """The table as CSV; where and when it was measured stands in every row."""
    about = "; ".join(line.removeprefix("- ") for line in lines if line.startswith("- "))
    head, _, *rows = (
        [cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("|")
    )
    with CORE_TABLE.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*head, "measured"])
        writer.writerows([*cells, about] for cells in rows)


def as_item(line: str) -> str:
    """A row of the table as an item of a list, which a page can show: cells that are empty are left out."""
    if not line.startswith("|"):
        return line
    name, ours, rival, theirs, ratio, goal, reached, peak, their_peak, quality, their_quality = (
        cell.strip() for cell in line.split("|")[1:-1]
    )
    beside = [f"{rival} {theirs}"] if rival else []
    beside += [f"ratio {ratio}"] if ratio else []
    memory = f"{peak} MB ({their_peak})" if their_peak else f"{peak} MB"
    good = f"{quality} ({their_quality})" if their_quality else quality
    return f"- **{name}**: {'; '.join([ours, *beside, f'goal {goal}: {reached}'])}. Peak {memory}. {good}."


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="name",
        help=f"some of {', '.join(NAMES)}; none: all but {', '.join(ON_REQUEST)}",
    )
    parser.add_argument("--core", action="store_true", help="what must not become slower")
    parser.add_argument(
        "--write",
        action="store_true",
        help=f"keep the result in docs/results/{PAGE.name}, with --core in {CORE_TABLE.name}",
    )
    chosen = parser.parse_args()
    unknown = [name for name in chosen.names if name not in NAMES]
    if unknown:
        parser.error(f"there is no benchmark '{unknown[0]}'; it is one of {', '.join(NAMES)}")
    for variable in ONE_THREAD:  # before numpy is imported, here and in the processes to come
        os.environ[variable] = "1"
    lines = [*surroundings(), "", HEAD, "|" + " --- |" * (HEAD.count("|") - 1)]
    print("\n".join(lines), flush=True)
    all_reached = True
    for name in chosen.names or (CORE if chosen.core else usual()):
        line, reached = row(name)
        all_reached &= reached
        lines.append(line)
        print(line, flush=True)
    if chosen.write and chosen.core:
        write_core(lines)
    elif chosen.write:
        PAGE.parent.mkdir(parents=True, exist_ok=True)
        rows = [as_item(line) for line in lines if line != HEAD and not line.startswith("| ---")]
        PAGE.write_text(f"# Benchmarks\n\n{MEASURED}\n\n" + "\n".join(rows) + "\n")
    return 0 if all_reached else 1


if __name__ == "__main__":
    sys.exit(main())
