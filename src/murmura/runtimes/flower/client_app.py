"""The ClientApp of a silo: a SuperNode started with --node-config 'silo="FOLDER"' answers for its people."""

from __future__ import annotations

from pathlib import Path

from murmura.core.errors import SettingError
from murmura.runtimes.flower.records import content_of, message_of
from murmura.runtimes.flower.silo import Silo

from flwr.app import Context, Message  # isort: skip -- records says in a sentence where it is not installed
from flwr.clientapp import ClientApp  # isort: skip


def introduce(message: Message, context: Context) -> Message:
    """Say which clients of the federation are here."""
    return Message(content=content_of(_silo(context).introduce()), reply_to=message)


def answer(message: Message, context: Context) -> Message:
    """Answer a request of the server; the same request gets the same reply."""
    return Message(content=content_of(_silo(context).answer(message_of(message))), reply_to=message)


def _silo(context: Context) -> Silo:
    node = context.node_config
    if "silo" not in node:
        raise SettingError(
            "a SuperNode must be told the folder of its silo, but its configuration names none; start it with "
            "--node-config 'silo=\"FOLDER\"'."
        )
    return Silo(Path(str(node["silo"])), int(node.get("workers", 1)))


app = ClientApp()
app.query()(introduce)
app.train()(answer)
