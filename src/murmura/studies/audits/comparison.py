"""An audit of every federated entry of a comparison: what its updates give away, beside what it is worth."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from murmura.algorithms import ALGORITHMS
from murmura.audit.registry import attack, attacks_on
from murmura.core.errors import RunError, SettingError
from murmura.core.locks import locked
from murmura.core.progress import SILENT, Progress
from murmura.data.sources.registry import load
from murmura.engine.protocol import PreparedData, prepare, protocol
from murmura.engine.run import Run
from murmura.runtimes.simulation import FederatedMethod, simulated
from murmura.studies.analyses.comparison_folder import ComparisonFolder
from murmura.studies.audits.audit import ENTRIES, FILE, Audit, audit, read_audits


def audit_folder(
    folder: Path, names: Sequence[str] = (), data_dir: Path | None = None, progress: Progress = SILENT
) -> dict[str, Audit]:
    """Audit the entries of the comparison in a folder, on its data and with its seeds."""
    comparison = ComparisonFolder.open(folder)
    rules = comparison.config.get("protocol")
    if not comparison.run.has("data.json") or not isinstance(rules, dict):
        raise RunError(
            f"{folder} must be a comparison that has begun, but has no data.json or no protocol; "
            "run `murmura compare` with this --out."
        )
    dataset = load(comparison.data, data_dir, skip_bad=bool(dict(comparison.config["data"]).get("skip_bad")))
    prepared = prepare(dataset, protocol(str(rules.get("name")), dataset))
    if comparison.run.read("data.json")["fingerprint"] != prepared.describe()["fingerprint"]:
        raise RunError(
            f"the data must be what {folder} was made from, but its fingerprint differs; fix --data-dir."
        )
    with locked(folder):
        return audit_entries(comparison, prepared, names, progress)


def audit_entries(
    comparison: ComparisonFolder, prepared: PreparedData, names: Sequence[str] = (), progress: Progress = SILENT
) -> dict[str, Audit]:
    """Audit every entry there is an attack against, and keep each in the folder, whose lock the caller holds.

    Those the folder has already are not repeated. Where it has an audit with other attacks, that one is kept.
    """
    chosen = [(label, *_attackable(label, given, names)) for label, given in comparison.models.items()]
    if not any(attacks for *_, attacks in chosen):
        those = f"the attacks {', '.join(names)}" if names else "an attack"
        raise SettingError(
            f"a comparison must have an entry that {those} can be made on to be audited, "
            f"but has {', '.join(comparison.models)}."
        )
    run, before = comparison.run, read_audits(comparison.run)  # refuses a damaged file
    keeps = not before or keeps_attacks(run, names)
    found = before if before and keeps else {}
    for label, ready, attacks in chosen:
        if ready is not None and attacks and label not in found:
            seed, seeds = int(comparison.config["seed"]), int(comparison.config["seeds"])
            found[label] = audit(ready, prepared.split.train, seed, attacks, progress, seeds)
            if keeps:
                entries = {each: one.plain() for each, one in found.items()}
                run.write_json(FILE, {"attacks": sorted(names), ENTRIES: entries})
    return found


def keeps_attacks(run: Run, names: Sequence[str]) -> bool:
    """Whether what a comparison's folder keeps is an audit with these attacks; none named: with all."""
    return bool(run.has(FILE) and run.read(FILE).get("attacks") == sorted(names))


def _attackable(
    label: str, given: dict[str, Any], names: Sequence[str]
) -> tuple[FederatedMethod | None, list[str]]:
    """An entry's method, and which of these attacks (none named: of all) are against it."""
    name = str(given.pop("name", label))
    if name not in ALGORITHMS:
        return None, []
    ready = simulated(name, given)
    algorithm = ready.preset.algorithm().name
    if names:
        return ready, [one for one in names if algorithm in attack(one).against]
    return ready, [one.name for one in attacks_on(algorithm)]
