"""The ClientApp and the ServerApp that carry our messages inside Flower's: only this file imports flwr.

A SuperNode started with --node-config 'silo="FOLDER"' answers for its users. A SuperLink runs the server, whose
settings are those of the run:

federation   the folder with the terms, where the server runs
folder       where it keeps its checkpoint and the model
silos        how many SuperNodes it waits for
seed         of what the server draws
patience     seconds it waits for a reply before it gives up; the next run goes on from the checkpoint
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from murmura.core.errors import FederationError, MissingExtraError, SettingError
from murmura.server.organisations.folder import SiloTerms
from murmura.server.organisations.server import model_digest, ranges_of, serve_silos
from murmura.server.organisations.silo import Silo

try:
    from flwr.app import Array, ArrayRecord, Context, Message, MessageType, RecordDict
    from flwr.clientapp import ClientApp
    from flwr.serverapp import Grid, ServerApp
except ImportError:
    raise MissingExtraError("a federation on Flower", "flower") from None

NAME = "murmura"


def content_of(message: bytes) -> RecordDict:
    """A message of ours as the content of one of Flower's."""
    return RecordDict({NAME: ArrayRecord({NAME: Array(np.frombuffer(message, np.uint8))})})


def message_of(carrier: Message) -> bytes:
    """The message of ours that one of Flower's carries."""
    numbers: bytes = carrier.content[NAME][NAME].numpy().tobytes()
    return numbers


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


client_app = ClientApp()
client_app.query()(introduce)
client_app.train()(answer)


def main(grid: Grid, context: Context) -> None:
    """Train, or go on from the checkpoint."""
    run = context.run_config
    terms, patience = SiloTerms.read(Path(str(run["federation"]))), float(run["patience"])
    nodes = _nodes(grid, int(run["silos"]), patience)
    introductions = _asked(grid, dict.fromkeys(nodes, b"who"), MessageType.QUERY, patience)

    def ask(messages: Mapping[int, bytes]) -> Mapping[int, bytes]:
        return _asked(grid, messages, MessageType.TRAIN, patience)

    f = serve_silos(terms, ranges_of(terms, introductions), ask, Path(str(run["folder"])), int(run["seed"]))
    print(f"{terms.preset.name}: {f.rounds} rounds, model {model_digest(f.published)}; {terms.label}")  # noqa: T201


def _nodes(grid: Grid, silos: int, patience: float) -> list[int]:
    """The SuperNodes, once as many are there as the federation has silos."""
    end = time.monotonic() + patience
    while len(nodes := sorted(grid.get_node_ids())) < silos:
        if time.monotonic() > end:
            raise FederationError(
                f"the federation has {silos} silos, but {len(nodes)} SuperNodes came; start the others, and "
                "run it again."
            )
        time.sleep(0.5)
    return nodes


def _asked(grid: Grid, messages: Mapping[int, bytes], kind: str, patience: float) -> dict[int, bytes]:
    """The reply of every node; a node that failed is told in one sentence."""
    sent = [Message(content_of(one), node, kind, ttl=patience) for node, one in messages.items()]
    replies: dict[int, bytes] = {}
    for reply in grid.send_and_receive(sent, timeout=patience):
        node = reply.metadata.src_node_id
        if reply.has_error():
            raise FederationError(f"the silo at node {node} failed: {reply.error.reason}")
        replies[node] = message_of(reply)
    return replies


server_app = ServerApp()
server_app.main()(main)
