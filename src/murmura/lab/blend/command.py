"""`murmura blend`: how much each part of a hybrid counts, chosen after training without the test rows."""

from __future__ import annotations

import csv
import json
from dataclasses import asdict, astuple
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from murmura.cli import options
from murmura.cli.console import progress, say, table
from murmura.studies.compare.command import load_data

if TYPE_CHECKING:
    from murmura.lab.blend.run import BlendConfig

HEADER = ("weight", "discount", "accuracy", "coverage")


@options.takes("murmura.lab.blend.run:BlendConfig")
def blend(
    config: BlendConfig,
    out: Annotated[Path | None, typer.Option("--out", help="A CSV file for every blend tried.")] = None,
    as_json: options.Json = False,
) -> None:
    """Choose weight and discount of kgflex-hybrid: the most accurate on validation whose lists cover enough."""
    from murmura.engine.prepared import prepare
    from murmura.engine.protocol import protocol
    from murmura.lab.blend.run import MODEL, blends, choose

    dataset, metric = load_data(config.data), config.metric
    prepared, grid = (
        prepare(dataset, protocol(config.whole_protocol, dataset)),
        (config.weights, config.discounts),
    )
    with progress() as bar:
        found = list(blends(prepared, config.fixed, metric, grid, config.seed, bar))
    if out is not None:
        with out.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([HEADER, *map(astuple, found)])
    chosen = choose(found, config.coverage)
    if as_json:
        for one in found:
            typer.echo(json.dumps({**asdict(one), "chosen": one is chosen}))
        return
    rows = [[f"{one.weight:g}", f"{one.discount:g}", f"{one.accuracy:.4f}", str(one.coverage)] for one in found]
    table(f"{MODEL} on {config.data.name}: {metric} on validation, items in final lists", list(HEADER), rows)
    say(f"chosen: -S {MODEL}.weight={chosen.weight:g} -S {MODEL}.discount={chosen.discount:g}")
