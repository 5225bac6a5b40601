"""`murmura data`: list, describe (rows and features), fetch, split, convert and make data sets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from murmura.cli import options
from murmura.cli.app import of_the_lab
from murmura.cli.console import progress, say, table
from murmura.core.errors import DataError, SettingError

if TYPE_CHECKING:
    from murmura.core.catalogue import Dataset, Split
    from murmura.core.features import ItemFeatures
    from murmura.core.interactions import Interactions

data_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="List, describe, fetch, split, convert and make data sets.",
)

Which = Annotated[str, typer.Argument(metavar="DATA", help="A source's name, a file, or a source's folder.")]


@data_app.command("list")
def list_sources(data_dir: options.DataDir = None, as_json: options.Json = False) -> None:
    """The data sets Murmura knows by name, and which of them are here."""
    from murmura.data.sources.registry import every_source

    rows = []
    for source in every_source().values():
        here = not source.files or (data_dir is not None and source.fits(data_dir / source.name))
        if as_json:
            row = {"name": source.name, "title": source.title, "here": here, "owner": source.owner}
            typer.echo(json.dumps({**row, "licence": source.licence, "url": source.url}))
        rows.append([source.name, "yes" if here else "no", source.title])
    if not as_json:
        table("data sets", ["name", "here", "title"], rows, text=True)


@data_app.command("describe")
@options.takes_reading
def describe_data(
    data: Which,
    protocol: Annotated[
        str, typer.Option("--protocol", help="Also what a protocol leaves: sizes, biases, groups.")
    ] = "",
    data_dir: options.DataDir = None,
    reading: options.Reading = {},  # noqa: B006
    as_json: options.Json = False,
) -> None:
    """Sizes, density, time span, values, categories and fingerprint of a data set."""
    from murmura.data.describe import describe

    dataset = _load(data, data_dir, reading)
    facts = {**describe(dataset), **(_under(protocol, dataset) if protocol else {})}
    if as_json:
        typer.echo(json.dumps(facts, ensure_ascii=False))
        return
    table(
        str(facts["name"]),
        ["what", "value"],
        [[key.replace("_", " "), _shown(key, facts)] for key in facts],
        text=True,
    )


@data_app.command("features")
@options.takes_reading
def describe_known(
    data: Which,
    protocol: Annotated[
        str, typer.Option("--protocol", help="Only what a protocol leaves; default: everything known.")
    ] = "",
    top: Annotated[int, typer.Option("--top", min=1, help="How many of the most frequent ones.")] = 20,
    data_dir: options.DataDir = None,
    reading: options.Reading = {},  # noqa: B006
    as_json: options.Json = False,
) -> None:
    """What is known of the items: features by hop and by predicate, how many an item has, the most frequent."""
    from murmura.data.describe import describe_features

    dataset = _load(data, data_dir, reading)
    facts = describe_features(dataset.name, _features(dataset, protocol), top)
    if as_json:
        typer.echo(json.dumps(facts, ensure_ascii=False))
        return
    listed = ("by_predicate", "most_frequent")
    rows = [[key.replace("_", " "), _known(facts[key])] for key in facts if key not in listed]
    table(f"{facts['name']}: features of items", ["what", "value"], rows, text=True)
    by_predicate = sorted(facts["by_predicate"].items(), key=lambda one: -one[1])
    table("by predicate", ["predicate", "features"], [[name, f"{n:,}"] for name, n in by_predicate[:top]])
    frequent = [[one["name"], f"{one['items']:,}"] for one in facts["most_frequent"]]
    table("most frequent", ["feature", "items"], frequent)


@data_app.command("fetch")
def fetch_data(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A source's name; see `murmura data list`.")],
    data_dir: options.DataDir = None,
) -> None:
    """Download a data set from its owner, checked by sha256; an interrupted download is resumed."""
    from murmura.data.sources.fetch import fetch
    from murmura.data.sources.registry import source_named

    source = source_named(name)
    if data_dir is None:
        raise SettingError("fetch needs a folder to put the data into: set MURMURA_DATA or pass --data-dir.")
    say(f"{source.title}. Terms of {source.owner}: {source.licence}.")
    with progress() as bar:
        files = fetch(source, data_dir, bar)
    for path in files:
        typer.echo(str(path))


@data_app.command("split")
@options.takes_reading
def split_data(
    data: Which,
    out: Annotated[Path, typer.Option("--out", help="The file to write the split to (.npz).")],
    kind: Annotated[str, typer.Option("--kind", help="temporal, random, leave-one-out, ...")] = "temporal",
    setting: options.Set = [],  # noqa: B006 - typer reads the default once
    filters: Annotated[
        list[str], typer.Option("--filter", metavar="NAME[=N]", help="A filter, in the order given.")
    ] = [],  # noqa: B006
    tables: Annotated[
        Path | None, typer.Option("--tables", help="Also write train, validation, test.csv there.")
    ] = None,
    data_dir: options.DataDir = None,
    reading: options.Reading = {},  # noqa: B006
    as_json: options.Json = False,
) -> None:
    """Filter and cut a data set, and save the split with the fingerprint of its data."""
    from murmura.data.filters import apply_filters, filter_named
    from murmura.data.splits.registry import split_named
    from murmura.data.splits.split_files import describe_split, save_split

    rule = split_named(kind, options.parse_settings(setting, [kind])[kind])
    steps = [filter_named(*_named_number(text)) for text in filters]
    rows = _table(_load(data, data_dir, reading), "split")
    split = rule.apply(apply_filters(rows, steps))
    save_split(out, split)
    if tables is not None:
        _write_parts(tables, split)
    about = describe_split(out)
    typer.echo(json.dumps(about) if as_json else "\n".join(f"{key}: {value}" for key, value in about.items()))


@data_app.command("convert")
@options.takes_reading
def convert_data(
    data: Which,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write: .parquet, .csv or .tsv.")],
    data_dir: options.DataDir = None,
    reading: options.Reading = {},  # noqa: B006
) -> None:
    """Write the interactions of a data set as a table with the columns user, item, value, time."""
    from murmura.data.tables.interactions_file import write_table

    rows = _table(_load(data, data_dir, reading), "convert")
    write_table(out, rows)
    say(f"wrote {len(rows):,} rows to {out}")
    typer.echo(str(out))


@data_app.command("synth")
def synth_data(
    out: Annotated[
        Path,
        typer.Argument(metavar="OUT", help="The file: .parquet, .csv or .tsv; the folder of a --population."),
    ],
    users: Annotated[int, typer.Option("--users")] = 1_000,
    items: Annotated[int, typer.Option("--items")] = 500,
    interactions: Annotated[int, typer.Option("--interactions")] = 20_000,
    skew: Annotated[float, typer.Option("--skew", help="How unequal popularity is; 0 is equal.")] = 0.8,
    groups: Annotated[int, typer.Option("--groups", help="How many tastes there are.")] = 8,
    taste: Annotated[float, typer.Option("--taste", help="The share of rows of the own taste.")] = 0.7,
    seed: Annotated[int, typer.Option("--seed", min=0)] = 0,
    population: Annotated[
        bool, typer.Option("--population", help="Mapped files for millions of clients, in constant memory.")
    ] = False,
) -> None:
    """Make up a data set with planted tastes and popular items; the same numbers give the same rows."""
    from murmura.data.sources.synthetic import SyntheticSettings, generate, write_synthetic
    from murmura.data.tables.interactions_file import write_table

    sizes = {"users": users, "items": items, "interactions": interactions}
    plan = SyntheticSettings(**sizes, skew=skew, groups=groups, taste=taste, seed=seed)
    if population:
        with progress() as bar:
            files = write_synthetic(out, plan, progress=bar)
        say(f"made up {files.rows:,} rows of {files.clients:,} clients: fingerprint {files.fingerprint}")
        typer.echo(str(out))
        return
    made = generate(plan)
    write_table(out, made.interactions)
    say(f"made up {len(made.interactions):,} rows: fingerprint {made.interactions.fingerprint}")
    typer.echo(str(out))


def _load(data: str, data_dir: Path | None, reading: options.Reading) -> Dataset:
    from murmura.data.sources.registry import load

    dataset = load(data, data_dir, **reading)
    for note in dataset.notes:
        say(f"note: {note}")
    return dataset


def _table(dataset: Dataset, command: str) -> Interactions:
    """The interactions of a data set, or those that are likes; samples are refused: no table can hold them."""
    from murmura.data.sources.registry import liked_rows

    if dataset.interactions.samples is not None:
        raise DataError(
            f"data {command} writes tables of interactions, but '{dataset.name}' has samples with labels; "
            "name a protocol that deals them to clients where you train, such as mnist-shards."
        )
    return liked_rows(dataset)


def _under(rules: str, dataset: Dataset) -> dict[str, Any]:
    """What a protocol leaves of a data set, and of its training part."""
    from murmura.engine.protocol import protocol

    found = of_the_lab("data facts")(dataset, protocol(rules, dataset))
    parts = {part: values for part, values in found.items() if part != "source"}
    return {
        "protocol": rules,
        **{part: {what: one.mean for what, one in values.items()} for part, values in parts.items()},
    }


def _features(dataset: Dataset, rules: str) -> ItemFeatures:
    """All that is known of the items, or what takes part under a protocol."""
    from murmura.engine.prepared import prepare
    from murmura.engine.protocol import protocol

    known = dataset.catalogue.item_features()
    if known is None:
        raise DataError(f"nothing is known of the items of '{dataset.name}'; give --features FILE.")
    if not rules:
        return known
    ready = prepare(dataset, protocol(rules, dataset))
    found = ready.split.train.features
    if found is None or not len(found):
        raise DataError(
            f"protocol {rules} must leave a feature that {ready.protocol.feature_items} items share, but none "
            f"of the {len(known)} of '{dataset.name}' is; give others with --features FILE or another protocol."
        )
    return found


def _known(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {number:,g}" for name, number in value.items())
    return f"{value:,}" if isinstance(value, int) else str(value)


def _named_number(text: str) -> tuple[str, float | None]:
    name, equals, number = text.partition("=")
    try:
        return name, float(number) if equals else None
    except ValueError:
        raise SettingError(
            f"--filter must be NAME or NAME=N, but is '{text}'; write min-per-user=20."
        ) from None


def _write_parts(folder: Path, split: Split) -> None:
    from murmura.core.catalogue import TEST, TRAIN, VALIDATION
    from murmura.data.tables.interactions_file import write_table

    for name, part in (("train", TRAIN), ("validation", VALIDATION), ("test", TEST)):
        rows = split.data.rows(split.part == part)
        if len(rows):
            write_table(folder / f"{name}.csv", rows)


def _shown(key: str, facts: dict[str, Any]) -> str:
    value = facts[key]
    if value is None:
        return "-"
    if key == "density":
        return f"{value:.4%}"
    if key in ("rows_per_user", "rows_per_item", "values"):
        middle = "mean" if key == "values" else "median"
        return f"{value[0]:,g} to {value[2]:,g}, {middle} {value[1]:,.4g}"
    if key == "categories":
        return ", ".join(f"{name} {count:,}" for name, count in value.items())
    if key == "notes":
        return "\n".join(value) or "-"
    if key == "shape":
        return " x ".join(map(str, value))
    return _known(value)
