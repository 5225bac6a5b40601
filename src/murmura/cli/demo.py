"""`murmura demo`: the main job on embedded data, in one command."""

from __future__ import annotations

from typing import Any

from murmura.cli import comparison_table, options
from murmura.cli.console import say
from murmura.studies.compare import command

DATA = "ml-latest-small-2016"
FEDERATED = {"sfpl+": {"epochs": 1}, "pfpl+": {"epochs": 1}, "cfpl": {"rounds": 60}}  # few: it is a demo
# what a search on the validation part found for so few rounds
ALSO = {"cfpl": {"clients": 500, "factors": 64, "alpha": 0.2, "channel": "secure-sum"}}
SUMS = ("fed-ease", "fed-item-knn")  # two exact secure sums each
SHARES = (1, 0.5, 0.1)


def demo(out: options.Out = None, workers: options.Workers = 2) -> None:
    """Compare recommenders, centralised and federated, on MovieLens latest-small (2016); needs no network.

    The newest 20 % of each person's ratings are held out. Two federated methods need two secure sums alone; the
    others train for a few epochs only (the table says how many), with three choices of pi: the share of their
    ratings people contribute.
    """
    from murmura.data.sources.registry import load
    from murmura.report import build
    from murmura.studies.compare.comparison_plan import plan

    folder = options.new_folder(out, "demo")
    chosen = plan(load(DATA), "default", models(), source={"name": DATA})
    command.run(chosen, folder, workers)
    comparison_table.show(chosen, folder)
    page = build(folder)
    say(f"report: {page}")


def models() -> dict[str, dict[str, Any]]:
    """Every baseline, the methods of two secure sums, and those of rounds at three choices of pi."""
    from murmura.studies.methods import defaults

    found = options.parse_models(command.DEFAULT_MODELS)
    for name in SUMS:
        found[f"{name} (2 sums)"] = {"name": name, **defaults("default", DATA, name)}
    for name, training in FEDERATED.items():
        length = ", ".join(f"{count} {unit if count > 1 else unit[:-1]}" for unit, count in training.items())
        for pi in SHARES:
            found[f"{name} pi={pi:g} ({length})"] = {"name": name, "pi": pi, **training, **ALSO.get(name, {})}
    return found
