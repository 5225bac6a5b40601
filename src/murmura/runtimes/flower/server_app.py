"""The ServerApp of a federation of organisations, run by a SuperLink; its settings are those of the run.

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

from murmura.core.errors import FederationError
from murmura.runtimes.flower.records import content_of, message_of
from murmura.runtimes.flower.server import model_digest, ranges_of, serve_silos
from murmura.runtimes.flower.silo_terms import SiloTerms

from flwr.app import Context, Message, MessageType  # isort: skip -- records says where it is not installed
from flwr.serverapp import Grid, ServerApp  # isort: skip


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


app = ServerApp()
app.main()(main)
