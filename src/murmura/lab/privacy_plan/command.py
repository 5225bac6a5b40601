"""`murmura privacy`: what noise will cost before anybody is asked, and what levels of sharing cost and hide."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from murmura.cli import options
from murmura.cli.console import progress, say, table
from murmura.core.errors import SettingError

if TYPE_CHECKING:
    from murmura.lab.privacy_plan.levels import PrivacyLevel
    from murmura.lab.privacy_plan.run import PlannedRelease, PublicFigures

privacy_app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="What sharing less, and noise, cost and hide."
)


@privacy_app.callback()
def privacy() -> None:
    """What noise will cost before anybody is asked, and what levels of pi and epsilon cost and hide."""


@privacy_app.command("levels")
def levels(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="A folder of `murmura fit`, federated.")],
    pi: Annotated[
        list[float], typer.Option("--pi", min=0, max=1, help="A level a person may choose; may be repeated.")
    ] = [],  # noqa: B006
    epsilon: Annotated[
        list[float], typer.Option("--epsilon", help="Noise for everyone; may be repeated.")
    ] = [],  # noqa: B006
    attack: Annotated[
        list[str], typer.Option("--attack", help="An attack on items, see docs/audit.md; default all.")
    ] = [],  # noqa: B006
    metric: Annotated[str, typer.Option("--metric", help="Of the lists; default that of the protocol.")] = "",
    data_dir: options.DataDir = None,
    as_json: options.Json = False,
) -> None:
    """Say what a level of pi or epsilon costs the lists of who chooses it, and what an audit then finds.

    Trains again for every level on the training part without its validation rows, which lists are scored on. A
    fifth of the people choose a level of pi while all others share everything; noise is the same for all. The
    folder keeps levels.json.
    """
    from murmura.lab.privacy_plan.levels import EPSILON, PI, price_levels

    with progress() as listener:
        found = price_levels(
            folder, pi or PI, epsilon or EPSILON, attack, metric, data_dir, listener, on_message=say
        )
    if as_json:
        for one in found:
            typer.echo(json.dumps(one.flat()))
    else:
        _show_levels(found)
    say(f"run folder: {folder}")


def _show_levels(found: list[PrivacyLevel]) -> None:
    rows = []
    for one in found:
        level = f"pi {one.pi:g}" if one.epsilon is None else f"epsilon {one.epsilon:g}"
        loss = f"{one.loss.mean:+.4f} ({one.loss.low:+.4f} to {one.loss.high:+.4f})"
        odds = f"{one.found.mean:.3f} ({one.found.low:.3f} to {one.found.high:.3f})"
        rows.append(
            [level, f"{one.people:,}", f"{one.lists:.4f}", loss, f"{one.everyone:.4f}", one.attack, odds]
        )
    heads = [
        "level",
        "people",
        "their lists",
        "they lose",
        "if everyone chose it",
        "strongest attack",
        "pm-AUC",
    ]
    table("levels", heads, rows, note="lists on the validation part; pm-AUC .5: nothing beyond popularity")


@privacy_app.command("plan")
@options.takes_reading
def plan(
    like: Annotated[str, typer.Option("--like", help="A public data set the federation is like.")] = "",
    protocol: Annotated[str, typer.Option("--protocol", help="With --like: the training part of it.")] = "fpl",
    data_dir: options.DataDir = None,
    reading: options.Reading = {},  # noqa: B006
    people: Annotated[
        list[int], typer.Option("--people", min=1, help="How many there are; may be repeated.")
    ] = [],  # noqa: B006
    items: Annotated[int, typer.Option("--items", min=0, help="Without --like: how many there are.")] = 0,
    per_person: Annotated[
        float, typer.Option("--per-person", min=0, help="Without --like: items of one person on average.")
    ] = 0.0,
    effective_items: Annotated[
        float,
        typer.Option("--effective-items", min=0, help="Without --like: 1 / sum of q², q an item's share."),
    ] = 0.0,
    epsilon: Annotated[
        list[float], typer.Option("--epsilon", help="What may be revealed; may be repeated.")
    ] = [],  # noqa: B006
    plot: Annotated[Path | None, typer.Option("--plot", help="Draw it into this SVG file.")] = None,
    as_json: options.Json = False,
) -> None:
    """Say what a noisy release (`fed-ease` with epsilon) will be worth, by public figures alone.

    For every number of people and every epsilon: how much is left of what it gains over the most popular items
    without noise, and where it is hopeless. docs/privacy.md says how that was measured.
    """
    from murmura.lab.privacy_plan.run import EPSILONS, PublicFigures, plan_releases

    if (not like) == (not items):
        raise SettingError(
            "a plan needs --like DATA, or --items with --per-person, --effective-items and --people, and not "
            "both."
        )
    if like:
        from murmura.runtimes.simulation import training_rows

        figures = PublicFigures.of(training_rows(like, protocol, data_dir, reading))
    elif people:
        figures = PublicFigures(people[0], items, per_person, effective_items)
    else:
        raise SettingError("--people must be given where there is no --like: how many there are.")
    planned = list(plan_releases(figures, people, epsilon or EPSILONS))
    if as_json:
        for one in planned:
            typer.echo(json.dumps(one.flat()))
    else:
        _show(figures, planned)
    if plot is not None:
        from murmura.core.files import write_whole
        from murmura.lab.privacy_plan.run import privacy_plan_picture

        write_whole(plot, privacy_plan_picture(figures, planned).encode())
        say(f"drawn: {plot}")


def _show(figures: PublicFigures, planned: list[PlannedRelease]) -> None:
    epsilons = sorted({one.epsilon for one in planned})
    cells = {(one.people, one.epsilon): one for one in planned}
    rows = [
        [f"{people:,}", *(_cell(cells[people, epsilon]) for epsilon in epsilons)]
        for people in sorted({one.people for one in planned})
    ]
    few = f"{figures.items:,} items ({figures.effective_items:,.0f} effective)"
    title = f"{few}, {figures.per_person:.1f} for each person"
    note = "what is left of the gain over the most popular items; delta is 1 / (10 people)"
    table(title, ["people", *(f"epsilon {one:g}" for one in epsilons)], rows, note=note)


def _cell(one: PlannedRelease) -> str:
    return "hopeless" if one.forecast.hopeless else f"{one.gain:.0%}"
