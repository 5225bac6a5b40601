"""The test part, opened once for one choice: scored here, or written as lists and splits for other tools."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml

from murmura.core.errors import DataError, RunError, SettingError
from murmura.core.flag_text import parse_cutoffs, parse_metrics
from murmura.core.locks import locked
from murmura.core.model import Model
from murmura.core.settings import Count, Flag, as_dict, settings
from murmura.data.list_files import format_named, read_lists, write_lists
from murmura.data.splits.split_files import write_split
from murmura.engine.experiment import (
    experiment,
    record_lists,
    record_outcome,
    record_scores,
    record_training,
    score,
    score_lists,
)
from murmura.engine.prepared import PreparedData
from murmura.engine.run_folder import LISTS, MODEL, Run
from murmura.evaluation.measure import Evaluation, check_cutoffs
from murmura.evaluation.registry import chosen_metrics
from murmura.studies.configuration import DataConfig, ProtocolConfig
from murmura.studies.evidence import Evidence
from murmura.studies.fit.run import read_config
from murmura.studies.scorer import Scorer, open_folder, record_origin
from murmura.studies.search.folder import SearchFolder, measured

Form = Literal["auto", "murmura", "trec", "elliot", "warprec", "recbole"]


@settings
class ListsData(DataConfig):
    """The data that a file of lists was made for."""

    # With --lists: which data.
    name: Annotated[str, Flag("--data")] = ""


@settings
class EvaluateConfig(ProtocolConfig):
    """By which metrics a run or a file of lists is scored, and for lists on what: what `evaluate` takes."""

    data: ListsData
    candidates: Count | None = None
    # Of the file of lists.
    form: Annotated[Form, Flag("--format")] = "auto"
    # Cut-offs of the metrics; default the protocol's.
    cutoffs: Annotated[tuple[Count, ...] | None, Flag("--at", "K[,K]", parse_cutoffs)] = None
    # Metrics by name; default P,R,nDCG,IC,G for lists.
    metrics: Annotated[tuple[str, ...], Flag(metavar="M[,M]", read=parse_metrics)] = ()

    @classmethod
    def default(cls, **own: Any) -> Self:
        """What is meant where nothing is said."""
        return cls(**{"data": ListsData(), **own})


def evaluate_run(folder: Path, asked: EvaluateConfig | None = None) -> dict[str, Any]:
    """Score a fitted run, or the choice of a finished search, on the test part and keep the result."""
    found, asked = open_folder(folder), asked or EvaluateConfig.default()
    if isinstance(found, SearchFolder):
        return _evaluate_search(found, asked)
    run, config = found.run, read_config(folder)
    if not run.has(MODEL):
        raise RunError(
            f"{folder} must hold a fitted model, but has none; run `murmura fit --out {folder}` to its end."
        )
    scorer = Scorer.open(folder, data_dir=asked.data.place())
    model, rules = scorer.model(), scorer.prepared.protocol
    wanted = chosen_metrics(asked.metrics or config.metrics, rules.scores)
    with locked(folder):
        split = scorer.prepared.open(run, {"model": config.model})
        outcome = scorer.score(model, split, asked.cutoffs or config.cutoffs, wanted, config.workers)
        record_outcome(run, outcome, split)
        return _finished(run)


def _evaluate_search(search: SearchFolder, asked: EvaluateConfig) -> dict[str, Any]:
    """Fit the choice on the whole training part, open the test part, and score it."""
    run, chosen = search.run, search.choice
    with locked(run.path):
        if chosen is None or (run.status != "chosen" and not search.opened):
            raise RunError(
                f"{run.path} must hold a finished search, but it is {run.status}; run it to its end."
            )
        scorer = Scorer.open(run.path, data_dir=asked.data.place())
        rules = scorer.prepared.protocol
        wanted = chosen_metrics(asked.metrics, rules.scores) if asked.metrics else measured(search.metric)
        split = scorer.prepared.open(run, {"model": {"name": chosen.model, **chosen.settings}})
        outcome = experiment(scorer.ready, split, rules, search.seed, cutoffs=asked.cutoffs, metrics=wanted)
        record_training(run, outcome.model)
        record_lists(run, outcome.lists, split)
        record_outcome(run, outcome, split)
        return _finished(run)


def _finished(run: Run) -> dict[str, Any]:
    """Mark a run as done; its metrics."""
    run.mark("done")
    values: dict[str, Any] = run.read("metrics.json")
    return values


def evaluate(
    model: Model,
    ready: PreparedData,
    *,
    choice: str | dict[str, Any],
    metrics: Sequence[str] = (),
    cutoffs: tuple[int, ...] | None = None,
    folder: Path | None = None,
    workers: int = 1,
) -> Evaluation:
    """Open the test part for a stated choice and score a model on it.

    Args:
        model: Fitted on `ready.split.train`.
        ready: What `prepare` gave; another choice is refused from then on, the same one may score more models.
        choice: What was chosen, and how: "ease, reg 500, by nDCG@10 on validation". Whoever chooses afterwards
            has seen the test part.
        metrics: By name, as `--metrics` takes them; none: the usual ones.
        cutoffs: The lengths of lists; None: the protocol's.
        folder: A run folder that keeps the choice, the metrics and the lists.
        workers: Threads; the values do not depend on it.
    """
    if model.train.fingerprint != ready.split.train.fingerprint:
        raise DataError(
            "the model must be fitted on ready.split.train, but was fitted on other rows; fit it again there."
        )
    rules, stated = ready.protocol, {"choice": choice}
    wanted = chosen_metrics(metrics, rules.scores)
    if folder is None:
        return score(model, ready.open(None, stated), rules, workers, cutoffs, wanted).evaluation
    with locked(folder):
        run = Run.create(folder, {"data": ready.data, "protocol": rules.name, **stated})
        record_origin(run, ready)
        split = ready.open(run, stated)
        outcome = score(model, split, rules, workers, cutoffs, wanted)
        record_lists(run, outcome.lists, split)
        record_outcome(run, outcome, split)
        run.mark("done")
    return outcome.evaluation


def evaluate_lists(file: Path, config: EvaluateConfig, folder: Path) -> dict[str, Any]:
    """Score a file of lists on the test part of a split of ours; the folder keeps the result.

    The file is the choice the test part is opened for: another file needs another folder.
    """
    if not config.data.name:
        raise SettingError("--lists needs --data: which data were the lists made for?")
    prepared = config.data.prepare(config.whole_protocol)
    rules, at = prepared.protocol, config.cutoffs or prepared.protocol.cutoffs
    wanted = chosen_metrics(config.metrics, rules.scores)
    lists = read_lists(file, prepared.split.data, config.form)
    check_cutoffs(at, lists)  # before anything is written
    chosen = {"lists": {"file": file.name, "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}}
    with locked(folder):
        run = Run.create(folder, {"data": as_dict(config.data), "protocol": config.whole_protocol, **chosen})
        record_origin(run, prepared)
        split = prepared.open(run, chosen)
        found = score_lists(lists, split, rules, at, wanted)
        record_lists(run, lists, split)
        record_scores(run, found, {}, split)
        return _finished(run)


def export_run(
    folder: Path, form: str, out: Path | None = None, data_dir: Path | None = None, parts: bool = True
) -> list[Path]:
    """Write the lists of every finished run of a folder, and the split, as another tool reads them.

    The split holds the test rows: writing it opens the test part for what the folder was run with. With
    `parts=False` only lists are written, and nothing is opened.
    """
    wanted, evidence = format_named(form), Evidence.of(folder, data_dir)
    place = out or folder / f"export-{form}"
    if not evidence.trained:
        raise RunError(f"{folder} must hold a finished run with lists, but has none; run it to its end.")
    prepared, split = evidence.prepared, None
    if parts and evidence.choice is not None:
        with locked(folder):
            split = prepared.open(evidence.run, evidence.choice)
    train, written = prepared.split.train, []
    for one in evidence.trained:
        kept = one.run.path
        written.append(place / f"{kept.name}{wanted.suffix}")
        write_lists(written[-1], read_lists(kept / LISTS, train, "murmura"), train, form, kept.name)
    if split is not None:
        name = re.sub(r"[^A-Za-z0-9_-]", "_", Path(prepared.data).stem)
        written += write_split(place, split, form, name, prepared.protocol.relevant_from)
        if form == "recbole":
            written.append(_recbole_settings(place, name, written))
    return written


def _recbole_settings(place: Path, name: str, written: list[Path]) -> Path:
    """What RecBole must be told to take the split as it is."""
    parts = [part for part in ("train", "valid", "test") if place / f"{name}.{part}.inter" in written]
    wanted_by_recbole = {"dataset": name, "benchmark_filename": parts, "field_separator": "\t"}
    path = place / "recbole.yaml"
    path.write_text(yaml.safe_dump(wanted_by_recbole, sort_keys=False), encoding="utf-8")
    return path
