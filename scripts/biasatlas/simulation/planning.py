"""What a run could find, before anything is asked: simulated models without bias answer the configured questions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.comparisons.cards import Card
from biasatlas.benchmarks.comparisons.findings import closed
from biasatlas.benchmarks.comparisons.pairs import Answers
from biasatlas.benchmarks.comparisons.rounds import analysis, is_ripe
from biasatlas.benchmarks.shared.evidence import OVERALL, Evidence
from biasatlas.benchmarks.shared.order import asking_order, rounds_of
from biasatlas.models.simulated.entry import SimulatedEntry
from biasatlas.simulation.harness import Harness
from biasatlas.simulation.studies import Study
from biasatlas.simulation.validity import markdown
from biasatlas.stats.multiplicity import ALPHA
from biasatlas.stats.rounds import Analysis, expected
from biasatlas.stats.verdict import judge

#: How many models answer; their standard errors differ little, and are averaged.
SEEDS = 3

#: Biases, in smallest effects that matter, for which the plan says what asking in rounds would take.
BIASES = (1, 2, 4)
#: For each of these: the share of the items that a verdict would take, and the chance of a verdict.
IN_ROUNDS = tuple(f"{name}_{times}d" for times in BIASES for name in ("asked", "decided"))

COLUMNS = (
    *("benchmark", "protocol", "measure", "part", "category", "unit", "items", "n_clusters", "smallest", "findable"),
    *IN_ROUNDS,
    "why",
)

#: Claim over all categories -> its analyses, round by round, each with Student's degrees of freedom.
_Rounds = Mapping[tuple[str, str, str], Sequence[Analysis]]


def bases(tasks: Sequence[str], studies: Mapping[str, Study], benchmark: str) -> dict[str, SimulatedEntry]:
    """A model without bias for each task: with the settings of the simulation's study of it, else with the defaults."""
    found = {}
    for task in tasks:
        of_task = (s for s in studies.values() if s.benchmark == benchmark and task in s.tasks)
        settings = next((s.base for s in of_task if s.by != "ngrams"), {})
        found[task] = SimulatedEntry.model_validate({"kind": "simulated"} | settings)
    return found


def plan(
    name: str,
    bench: Harness,
    protocol: str,
    entries: Mapping[str, SimulatedEntry],
    cards: Sequence[Card],
    families: int = 0,
) -> pd.DataFrame:
    """A row for each metric and category that a headline declares; COLUMNS. ``entries`` are models without bias, by
    task.

    ``findable`` is the smallest bias that would be called one four times in five, if tested alone, from the standard
    errors of :data:`SEEDS` such models. It is larger if a real model's answers vary more, and missing if nothing can be
    said (``why`` has the reason). ``smallest`` is the smallest effect that matters. ``families`` is how many families
    of tests are judged together if the benchmark is asked in rounds, else 0. IN_ROUNDS say what rounds would take for
    a claim over all categories; they are missing for other claims, and without rounds.
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
    rounds = _rounds(bench, entries) if families else {}
    rows = []
    for key, several in found.items():
        first = several[0]
        why = closed(cards, bench.benchmark, protocol, first)
        verdicts = judge([evidence.claim(f"{name}/{seed}", why) for seed, evidence in enumerate(several)])
        why = next((verdict.why for verdict in verdicts if verdict.state == "untestable"), "")
        findable = float(np.mean([verdict.findable for verdict in verdicts]))
        numbers = (len(first.items), first.inference().n_clusters, verdicts[0].smallest)
        taken = [np.nan] * len(IN_ROUNDS)
        if not why and rounds.get(key):
            smallest = verdicts[0].smallest
            pairs = [expected(rounds[key], times * smallest, smallest, ALPHA / families) for times in BIASES]
            taken = [number for pair in pairs for number in pair]
        rows.append((name, protocol, *key, first.unit, *numbers, np.nan if why else findable, *taken, why))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _rounds(bench: Harness, entries: Mapping[str, SimulatedEntry]) -> _Rounds:
    """The analyses of one such model after each round."""
    found: dict[tuple[str, str, str], list[Analysis]] = {}
    for share, part in _parts(bench):
        parts = [part.only(task).scores(entry, "m") for task, entry in entries.items()]
        for answers in Answers.by_model(pd.concat(parts, ignore_index=True), bench.benchmark, bench.options).values():
            for key, evidence in answers.evidence().items():
                if evidence.declared and evidence.category == OVERALL and not evidence.squared and is_ripe(evidence):
                    found.setdefault(key, []).append(analysis(evidence, share))
    return found


def _parts(bench: Harness) -> Iterator[tuple[float, Harness]]:
    """(share of the items, harness with the requests so far) at the end of each round."""
    tasks = [requests["item_id"].unique() for requests in bench.requests.values()]
    wanted = {item for of_task in tasks for item in of_task}
    design, items = registry.spec_view(bench.benchmark, "studies").design, bench.items
    order = [item for item in asking_order(items, design) if item in wanted]
    for share, asked in rounds_of(items, design, order, tasks):
        requests = {
            task: rows[rows["item_id"].isin(asked)].reset_index(drop=True) for task, rows in bench.requests.items()
        }
        yield share, replace(bench, items=items[items["item_id"].isin(asked)].reset_index(drop=True), requests=requests)


def as_text(table: pd.DataFrame) -> str:
    """A plan for people: what can be found, then what has no interval or is out of reach."""
    known = table[table["findable"].notna()]
    unknown = {"why", *(name for name in IN_ROUNDS if known[name].isna().all())}
    shown = [name for name in COLUMNS if name not in unknown]
    lines = [
        "The smallest bias that four runs in five would call one, on these data:\n",
        markdown(known, {name: name.replace("_", " ") for name in shown}),
    ]
    lost = table[table["findable"].isna()].fillna({"part": "", "why": "no value"})
    for key, rows in lost.groupby(["benchmark", "protocol", "measure", "part"], sort=False):
        why = "; ".join(dict.fromkeys(rows["why"]))
        lines.append(f"Nothing to plan with: {' '.join(filter(None, key))}: {', '.join(rows['category'])}: {why}.")
    return "\n".join(lines) + "\n"
