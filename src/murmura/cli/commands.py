"""Every command by its name: what it is called, and where it is; imported when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer

from murmura.core.plugins import Registry, imported

Command = Callable[..., object] | typer.Typer

COMMANDS: Registry[Command] = Registry(
    "command",
    "murmura.commands",
    {
        "fit": "murmura.studies.fit.command:fit",
        "evaluate": "murmura.studies.evaluate.command:evaluate",
        "compare": "murmura.studies.compare.command:compare",
        "search": "murmura.studies.search.command:search",
        "blend": "murmura.studies.blend.command:blend",
        "sweep": "murmura.studies.sweep.command:sweep",
        "recommend": "murmura.studies.recommend.command:recommend",
        "report": "murmura.cli.report:report",
        "export": "murmura.studies.export.command:export",
        "check-leaks": "murmura.studies.leaks.command:check_leaks",
        "privacy": "murmura.studies.privacy_plan.command:privacy_app",
        "simulate": "murmura.runtimes.command:simulate",
        "data": "murmura.data.command:data_app",
        "config": "murmura.cli.config:config_app",
        "demo": "murmura.cli.demo:demo",
        "doctor": "murmura.cli.doctor:doctor",
        "serve": "murmura.server.commands.serve:serve",
        "aggregate": "murmura.server.commands.aggregate:aggregate",
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

# what commands of other rooms show of the papers' studies, and where it is
OF_THE_LAB = {
    "data facts": "murmura.lab.papers.data_facts:data_facts",
    "privacy plan picture": "murmura.lab.papers.privacy_plan_picture:privacy_plan_picture",
    "rule check": "murmura.lab.papers.rule_check:check_rule",
}


def of_the_lab(name: str) -> Callable[..., Any]:
    """A function of the lab, imported now."""
    found: Callable[..., Any] = imported(OF_THE_LAB[name])
    return found
