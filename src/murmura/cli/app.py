"""`murmura`: the command line. Data goes to stdout, progress and messages to stderr."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from murmura.cli import (
    analyse,
    audit,
    blend,
    check_leaks,
    compare,
    config,
    data,
    demo,
    doctor,
    evaluate,
    export,
    fit,
    groups,
    privacy,
    recommend,
    report,
    reproduce,
    search,
    silos,
    simulate,
    sweep,
)
from murmura.cli.console import CONSOLE, say
from murmura.core.errors import MurmuraError
from murmura.device.commands import consent, devices, join, leave, ledger, log
from murmura.server.commands import aggregate, invite, rounds, serve, verify

INTERRUPTED = 130
EXIT_CODES = (
    "Exit codes: 0 done, 1 failed, 2 wrong setting, 3 unusable data, 4 unusable folder or unreachable server, "
    "5 optional part missing, 6 refused by the federation, 7 a leak, 130 interrupted."
)

app = typer.Typer(
    name="murmura",
    help="A federated recommender, with honest evaluation against centralised rivals.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(ledger.ledger_app, name="ledger", help="Check and export what left a device.")
app.add_typer(data.data_app, name="data", help="List, describe, fetch, split, convert and make data sets.")
app.add_typer(config.config_app, name="config", help="Show, check and describe configuration files.")
app.add_typer(
    reproduce.reproduce_app,
    name="reproduce",
    help="The papers' tables and figures of results, one command each.",
)
app.add_typer(analyse.analyse_app, name="analyse", help="Read a finished sweep or comparison closely.")
app.add_typer(groups.groups_app, name="groups", help="FedSPLIT's tables over groups, tuned or not.")
app.add_typer(invite.invite_app, name="invite", help="Invite devices to a federation, and take it back.")
app.add_typer(log.log_app, name="log", help="Check the public log of a federation.")
app.add_typer(privacy.privacy_app, name="privacy", help="What noise will cost, before anybody is asked.")
app.add_typer(rounds.rounds_app, name="rounds", help="Watch and order a federation that is served.")
app.add_typer(silos.silos_app, name="silos", help="A federation of organisations, carried by Flower.")
STUDIES = (
    fit,
    check_leaks,
    evaluate,
    export,
    compare,
    search,
    blend,
    sweep,
    simulate,
    recommend,
    report,
    audit,
    demo,
    doctor,
)
FEDERATION = (serve, aggregate, join, consent, leave, devices, verify)
for module in (*STUDIES, *FEDERATION):  # each has the command of its name
    command = getattr(module, module.__name__.rpartition(".")[2])
    app.command(command.__name__.replace("_", "-"))(command)


@app.callback()
def options(
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no messages.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Say more; show where an error came from.")
    ] = False,
    no_color: Annotated[bool, typer.Option("--no-color", help="Plain text.")] = False,
) -> None:
    """A federated recommender, with honest evaluation against centralised rivals."""
    CONSOLE.quiet, CONSOLE.verbose = quiet, verbose
    CONSOLE.color = not no_color and "NO_COLOR" not in os.environ


@app.command("version")
def version() -> None:
    """Print the version."""
    from murmura.core.version import __version__

    typer.echo(__version__)


def main() -> None:
    """The entry point: every deliberate error is one sentence and an exit code."""
    try:
        # typer turns Ctrl-C and typer.Exit into a returned number
        code = app(standalone_mode=False) or 0
    except MurmuraError as error:
        if CONSOLE.verbose:
            raise
        say(f"error: {error}", always=True)
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        usage = getattr(error, "format_message", None)  # click's own usage errors
        if usage is None or CONSOLE.verbose:
            raise
        say(f"error: {usage()}", always=True)
        sys.exit(2)
    if code == INTERRUPTED:
        say("interrupted: what was finished is kept.", always=True)
    sys.exit(code)
