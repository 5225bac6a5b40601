"""`murmura demo`: the main job on embedded data, in one command."""

from __future__ import annotations

from murmura.cli import compare, options
from murmura.cli.console import say

DATA = "ml-latest-small-2016"


def demo(
    out: options.Out = None,
    workers: options.Workers = 2,
) -> None:
    """Compare recommenders on MovieLens latest-small (2016), newest 20 % held out; needs no network."""
    from murmura.data.sources import load
    from murmura.report import build
    from murmura.studies.compare import plan

    folder = options.new_folder(out, "demo")
    models = options.parse_models(compare.DEFAULT_MODELS)
    chosen = plan(load(DATA), "default", models, source={"name": DATA})
    compare.show(chosen, compare.run(chosen, folder, workers))
    page = build(folder)
    say(f"report: {page}")
