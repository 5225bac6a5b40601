"""`murmura check-leaks`: was a held-out row used before the test part was opened?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from murmura.cli import options
from murmura.cli.console import say, table, tell


def check_leaks(
    run: Annotated[Path, typer.Argument(help="A folder fit, compare, sweep, search or reproduce wrote.")],
    trials: Annotated[
        int, typer.Option("--trials", min=0, help="How many trials of a search are made again.")
    ] = 3,
    data_dir: options.DataDir = None,
    as_json: options.Json = False,
) -> None:
    """Prove that no held-out row was a positive, spared as a negative, or used to choose.

    Every model of the folder is fitted again in a process that has the training rows and nothing else: the
    lists must come out the same. Exit code 7 and one sentence where they do not; 4 where nothing can be proven.
    """
    from murmura.core.errors import LeakError, RunError
    from murmura.lab.leaks.check import check_leaks as check

    found = []
    for one in check(run, data_dir, trials):
        found.append(one)
        line = {"run": one.run, "check": one.what, "verdict": one.verdict, "why": one.why}
        tell(line, f"{one.run}: {one.what}: {one.verdict}", as_json)
    if not as_json:
        rows = [[one.run, one.what, one.verdict, one.why] for one in found]
        table(f"held-out rows in {run}", ["run", "check", "verdict", "why"], rows, text=True)
    for verdict, kind in (("leak", LeakError), ("unproven", RunError)):
        bad = [one for one in found if one.verdict == verdict]
        if bad:
            more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
            word = "a held-out row was used" if verdict == "leak" else "it cannot be proven"
            raise kind(f"{word}: {bad[0].run}, {bad[0].what}: {bad[0].why}{more}.")
    say(f"no held-out row was used: {len(found)} checks.")
