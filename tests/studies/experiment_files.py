"""A small experiment and data to run it on."""

from pathlib import Path

EXPERIMENT = """title: A small table
paper: none
docs: docs/reproduce.md
data: [ml-1m]
protocol: fpl
metric: P@10
shown: [P@10, IC@10]
seeds: 2
rows:
  Top-Pop: {model: mostpop}
  User-kNN:
    model: user-knn
    search:
      - {k: [2, 5, 10]}
      - {asymmetry: [0.3, 0.8], power: [1, 2]}
  sFPL:
    model: sfpl
    settings: {factors: 4, pi: 1.0, disclosure: per-triple}
    epochs: 6
    patience: 2
    search:
      - {alpha: [0.05, 0.5]}
      - {pi: [0.1, 0.5, 1.0]}
printed:
  ml-1m:
    Top-Pop: {P@10: 0.5}
"""


def small(folder: Path, text: str = EXPERIMENT, name: str = "small") -> Path:
    """The experiment as a file."""
    path = folder / f"{name}.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def ratings(folder: Path, users: int = 60, items: int = 36) -> Path:
    """A CSV of ratings in which everyone has rated two thirds of the items, every item often enough."""
    lines = ["user,item,rating,time"]
    for user in range(users):
        for step in range(2 * items // 3):
            item = (user * 5 + step) % items
            lines.append(f"u{user:02d},m{item:02d},{1 + (user * 3 + item * 7 + user * item) % 5},{1000 + step}")
    path = folder / "dense.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def featured(folder: Path) -> Path:
    """The same ratings with a category for every item, each of twelve items."""
    head, *lines = ratings(folder).read_text(encoding="utf-8").splitlines()
    rows = [f"{line},c{int(line.split(',')[1][1:]) % 3}" for line in lines]
    path = folder / "featured.csv"
    path.write_text("\n".join([f"{head},category", *rows]) + "\n", encoding="utf-8")
    return path


def check_ins(folder: Path, users: int = 60, items: int = 90, rows: int = 24) -> Path:
    """A CSV of three taste groups with enough rows a user for the protocol of FPL."""
    lines = ["user,item,rating,time"]
    for user in range(users):
        group = user % 3
        for step in range(rows):
            item = group * items // 3 + (user * 7 + step * (1 + 6 * (user % 2))) % (items // 3)
            lines.append(f"u{user:02d},m{item:02d},5,{1000 + step}")
    path = folder / "ratings.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
