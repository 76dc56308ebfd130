"""What a run could find, before anything is asked: simulated models without bias answer the configured questions."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from biasatlas.benchmarks.comparisons.findings import Card, verdict
from biasatlas.benchmarks.comparisons.pairs import Answers
from biasatlas.benchmarks.shared.evidence import Evidence
from biasatlas.models.simulated.entry import SimulatedEntry
from biasatlas.simulation.harness import Harness
from biasatlas.simulation.studies import Study
from biasatlas.simulation.validity import markdown
from biasatlas.stats.intervals import smallest_findable

#: Models that answer; their standard errors are averaged, and differ little.
SEEDS = 3

COLUMNS = (
    *("benchmark", "protocol", "measure", "part", "category", "items", "n_clusters", "smallest_effect"),
    *("no_interval_reason", "card"),
)


def bases(tasks: Sequence[str], studies: Mapping[str, Study], benchmark: str) -> dict[str, SimulatedEntry]:
    """What a model without bias is like in each task: as in the simulation's study of it, else as simulated models are."""
    found = {}
    for task in tasks:
        settings = next((s.base for s in studies.values() if s.benchmark == benchmark and task in s.tasks), {})
        found[task] = SimulatedEntry.model_validate({"kind": "simulated"} | settings)
    return found


def plan(
    name: str, bench: Harness, protocol: str, entries: Mapping[str, SimulatedEntry], cards: Sequence[Card]
) -> pd.DataFrame:
    """A row for each metric and category with a neutral value; COLUMNS. ``entries`` are models without bias, by task.

    ``smallest_effect`` is the distance from neutral that is found with a power of 80 % at the level of 5 %, from the
    standard errors of :data:`SEEDS` such models; a real model whose answers vary more finds less. Missing where there is no
    interval, or where it is more than the metric's bounds allow, for the reason ``no_interval_reason``.
    """
    found: dict[tuple[str, str, str], list[Evidence]] = {}
    benches = {task: bench.only(task) for task in entries}
    for seed in range(1, SEEDS + 1):
        parts = [benches[task].scores(entry.model_copy(update={"seed": seed}), name) for task, entry in entries.items()]
        scores = pd.concat(parts, ignore_index=True)
        for answers in Answers.by_model(scores, bench.benchmark, bench.options).values():
            for key, evidence in answers.evidence().items():
                if evidence.neutral is not None:
                    found.setdefault(key, []).append(evidence)
    rows = []
    for key, several in found.items():
        inferences = [evidence.inference() for evidence in several]
        sizes = [smallest_findable(each.se, each.df) for each in inferences if each.se > 0]
        smallest, reach = float(np.mean(sizes)) if sizes else np.nan, _reach(several[0])
        reason = next((each.reason for each in inferences if each.reason), None)
        if smallest > reach:
            smallest, reason = np.nan, f"{smallest:.3g} are needed, and the most there can be is {reach:g}"
        numbers = (len(several[0].items), inferences[0].n_clusters, smallest)
        rows.append((name, protocol, *key, *numbers, reason, verdict(cards, bench.benchmark, protocol, several[0])))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _reach(evidence: Evidence) -> float:
    """The greatest distance from neutral that a metric can have."""
    if evidence.bounds is None or evidence.neutral is None:
        return np.inf
    return max(abs(bound - evidence.neutral) for bound in evidence.bounds)


def as_text(table: pd.DataFrame) -> str:
    """A plan for people: what can be found, then what has no interval or is out of reach."""
    shown = [name for name in COLUMNS if name != "no_interval_reason"]
    known = table[table["smallest_effect"].notna()]
    lines = [
        "The smallest distance from neutral that four runs in five would find, by models without bias on these data:\n",
        markdown(known, {name: name.replace("_", " ") for name in shown}),
    ]
    lost = table[table["smallest_effect"].isna()].fillna({"part": "", "no_interval_reason": "no value"})
    for key, rows in lost.groupby(["benchmark", "protocol", "measure", "part"], sort=False):
        why = "; ".join(dict.fromkeys(rows["no_interval_reason"]))
        lines.append(f"Nothing to plan with: {' '.join(filter(None, key))}: {', '.join(rows['category'])}: {why}.")
    return "\n".join(lines) + "\n"
