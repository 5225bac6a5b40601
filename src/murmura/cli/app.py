"""`murmura`: the command line. Data goes to stdout, progress and messages to stderr."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from murmura.cli.console import CONSOLE, say
from murmura.core.errors import MurmuraError
from murmura.core.plugins import Registry, imported

INTERRUPTED = 130
EXIT_CODES = (
    "Exit codes: 0 done; 1 failed; 2 wrong setting; 3 unusable data; 4 unusable folder or unreachable server; "
    "5 optional part missing; 6 refused by the federation; 7 a leak; 130 interrupted."
)

Command = Callable[..., object] | typer.Typer

COMMANDS: Registry[Command] = Registry(
    "command",
    "murmura.commands",
    {
        "fit": "murmura.studies.fit.command:fit",
        "evaluate": "murmura.studies.evaluate.command:evaluate",
        "compare": "murmura.studies.compare.command:compare",
        "search": "murmura.studies.search.command:search",
        "study": "murmura.lab.study.command:study",
        "blend": "murmura.lab.blend.command:blend",
        "sweep": "murmura.lab.sweep.command:sweep",
        "recommend": "murmura.studies.recommend.command:recommend",
        "report": "murmura.cli.report:report",
        "export": "murmura.studies.evaluate.command:export",
        "check-leaks": "murmura.lab.leaks.command:check_leaks",
        "privacy": "murmura.lab.privacy_plan.command:privacy_app",
        "simulate": "murmura.runtimes.command:simulate",
        "data": "murmura.data.command:data_app",
        "config": "murmura.cli.config:config_app",
        "demo": "murmura.studies.compare.command:demo",
        "doctor": "murmura.cli.doctor:doctor",
        "serve": "murmura.server.commands.serve:serve",
        "aggregate": "murmura.server.commands.aggregate:aggregate",
        "backup": "murmura.server.commands.backup:backup",
        "restore": "murmura.server.commands.backup:restore",
        "invite": "murmura.server.commands.invite:invite_app",
        "rounds": "murmura.server.commands.rounds:rounds_app",
        "verify": "murmura.server.commands.verify:verify",
        "silos": "murmura.server.organisations.command:silos_app",
        "join": "murmura.device.commands.join:join",
        "consent": "murmura.device.commands.consent:consent",
        "ledger": "murmura.device.commands.ledger:ledger_app",
        "log": "murmura.device.commands.log:log_app",
        "leave": "murmura.device.commands.leave:leave",
        "devices": "murmura.device.commands.devices:devices",
        "reproduce": "murmura.lab.papers.command:reproduce_app",
        "analyse": "murmura.lab.analyses.command:analyse_app",
        "audit": "murmura.lab.audits.command:audit",
        "groups": "murmura.lab.groups.command:groups_app",
    },
    "a function with the parameters of typer, or a typer.Typer",
    lambda name, found: found if callable(found) or isinstance(found, typer.Typer) else None,
)

# what commands of other rooms use of the lab, and where it is
OF_THE_LAB = {
    "data facts": "murmura.lab.papers.data_facts:data_facts",
    "tracker": "murmura.lab.mlflow_tracker:MlflowTracker",
}


def of_the_lab(name: str) -> Any:
    """A function or class of the lab, imported now."""
    return imported(OF_THE_LAB[name])


class Commands(TyperGroup):
    """The commands of the table: only the one that is asked for is imported."""

    listing = False  # whether only names and first sentences are wanted, of which no flag is a part

    def list_commands(self, ctx: Any) -> list[str]:
        """Ours in the order of the table, then those of other packages."""
        return [*COMMANDS, *super().list_commands(ctx)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name; one that cannot be imported is refused, though the list has it."""
        if self.listing and cmd_name in COMMANDS:
            return TyperCommand(cmd_name, help=_about(cmd_name))
        if cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        return _command(cmd_name, COMMANDS.get(cmd_name))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The list of all commands."""
        self.listing = True
        super().format_commands(ctx, formatter)
        self.listing = False


def _about(name: str) -> str:
    """What a command is for; of one that cannot be imported, why."""
    try:
        found = COMMANDS.get(name)
    except MurmuraError as error:
        return str(error)
    said = found.info.help if isinstance(found, typer.Typer) else found.__doc__
    return inspect.cleandoc(said if isinstance(said, str) else "")


def _command(name: str, found: Command) -> Any:
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    if isinstance(found, typer.Typer):
        alone.add_typer(found, name=name)
    else:
        alone.command(name)(found)
    made = typer.main.get_command(alone)
    return getattr(made, "commands", {}).get(name, made)


app = typer.Typer(
    cls=Commands,
    name="murmura",
    help="A federated recommender, with honest evaluation against centralised rivals.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
