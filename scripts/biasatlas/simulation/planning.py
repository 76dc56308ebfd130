"""What a run could find, before anything is asked: simulated models without bias answer the configured questions."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from biasatlas.benchmarks.comparisons.findings import Card, closed
from biasatlas.benchmarks.comparisons.pairs import Answers
from biasatlas.benchmarks.shared.evidence import Evidence
from biasatlas.models.simulated.entry import SimulatedEntry
from biasatlas.simulation.harness import Harness
from biasatlas.simulation.studies import Study
from biasatlas.simulation.validity import markdown
from biasatlas.stats.verdict import judge

#: Models that answer; their standard errors are averaged, and differ little.
SEEDS = 3

COLUMNS = (
    *("benchmark", "protocol", "measure", "part", "category", "unit", "items", "n_clusters", "smallest", "findable"),
    "why",
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
    """A row for each metric and category that a headline declares; COLUMNS. ``entries`` are models without bias, by task.

    ``findable`` is the smallest bias that would be called one four times in five, by itself, from the standard errors of
    :data:`SEEDS` such models; where a real model's answers vary more it is larger. Missing where nothing can be said:
    ``why`` has the reason. ``smallest`` is the smallest effect that matters.
    """
    found: dict[tuple[str, str, str], list[Evidence]] = {}
    benches = {task: bench.only(task) for task in entries}
    for seed in range(1, SEEDS + 1):
        parts = [benches[task].scores(entry.model_copy(update={"seed": seed}), name) for task, entry in entries.items()]
        scores = pd.concat(parts, ignore_index=True)
        for answers in Answers.by_model(scores, bench.benchmark, bench.options).values():
            for key, evidence in answers.evidence().items():
                if evidence.declared is not None:
                    found.setdefault(key, []).append(evidence)
    rows = []
    for key, several in found.items():
        first = several[0]
        why = closed(cards, bench.benchmark, protocol, first)
        verdicts = judge([evidence.claim(f"{name}/{seed}", why) for seed, evidence in enumerate(several)])
        why = next((verdict.why for verdict in verdicts if verdict.state == "untestable"), "")
        findable = float(np.mean([verdict.findable for verdict in verdicts]))
        numbers = (len(first.items), first.inference().n_clusters, verdicts[0].smallest)
        rows.append((name, protocol, *key, first.unit, *numbers, np.nan if why else findable, why))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def as_text(table: pd.DataFrame) -> str:
    """A plan for people: what can be found, then what has no interval or is out of reach."""
    shown = [name for name in COLUMNS if name != "why"]
    known = table[table["findable"].notna()]
    lines = [
        "The smallest bias that four runs in five would call one, on these data:\n",
        markdown(known, {name: name.replace("_", " ") for name in shown}),
    ]
    lost = table[table["findable"].isna()].fillna({"part": "", "why": "no value"})
    for key, rows in lost.groupby(["benchmark", "protocol", "measure", "part"], sort=False):
        why = "; ".join(dict.fromkeys(rows["why"]))
        lines.append(f"Nothing to plan with: {' '.join(filter(None, key))}: {', '.join(rows['category'])}: {why}.")
    return "\n".join(lines) + "\n"
