"""`murmura blend`: how much each part of a hybrid counts, chosen after training without the test rows."""

from __future__ import annotations

import csv
import json
from dataclasses import asdict, astuple
from pathlib import Path
from typing import Annotated

import typer

from murmura.cli import options
from murmura.cli.console import progress, say, table
from murmura.core.errors import SettingError
from murmura.studies.compare.command import load_data

HEADER = ("weight", "discount", "accuracy", "coverage")
Values = Annotated[str, typer.Option(metavar="V,V", help="The values to try, instead of the usual ones.")]


@options.takes_reading
def blend(
    data: options.Data = "ml-latest-small-2016",
    protocol: options.ProtocolName = "kgflex",
    split: options.SplitName = "",
    candidates: options.CandidateCount = None,
    coverage: Annotated[
        int, typer.Option("--coverage", min=0, help="The final lists must cover so many items.")
    ] = 0,
    metric: Annotated[str, typer.Option("--metric", help="The accuracy on validation rows.")] = "nDCG@10",
    settings: options.Set = [],  # noqa: B006
    weights: Values = "",
    discounts: Values = "",
    seed: options.Seed = 0,
    data_dir: options.DataDir = None,
    reading: options.Reading = {},  # noqa: B006
    out: Annotated[Path | None, typer.Option("--out", help="A CSV file for every blend tried.")] = None,
    as_json: options.Json = False,
) -> None:
    """Choose weight and discount of kgflex-hybrid: the most accurate on validation whose lists cover enough."""
    from murmura.engine.protocol import prepare
    from murmura.engine.protocol import protocol as named
    from murmura.studies.blend.run import DISCOUNTS, MODEL, WEIGHTS, blends, choose

    dataset = load_data({"name": data, **reading}, data_dir)
    own = options.parse_settings(settings, [MODEL])[MODEL]
    grid = numbers(weights, "--weights") or WEIGHTS, numbers(discounts, "--discounts") or DISCOUNTS
    prepared = prepare(dataset, named(options.changed_protocol(protocol, split, candidates), dataset))
    with progress() as bar:
        found = list(blends(prepared, own, metric, grid, seed, bar))
    if out is not None:
        with out.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([HEADER, *map(astuple, found)])
    chosen = choose(found, coverage)
    if as_json:
        for one in found:
            typer.echo(json.dumps({**asdict(one), "chosen": one is chosen}))
        return
    rows = [[f"{one.weight:g}", f"{one.discount:g}", f"{one.accuracy:.4f}", str(one.coverage)] for one in found]
    table(f"{MODEL} on {data}: {metric} on validation, items in final lists", list(HEADER), rows)
    say(f"chosen: -S {MODEL}.weight={chosen.weight:g} -S {MODEL}.discount={chosen.discount:g}")


def numbers(text: str, flag: str) -> tuple[float, ...]:
    """Comma-separated numbers."""
    try:
        return tuple(float(part) for part in text.split(",") if part.strip())
    except ValueError:
        raise SettingError(f"{flag} must be numbers between commas, but it is '{text}'.") from None
