"""Measures studies, each in the way that it names, and tests a described benchmark on simulated models."""

import signal
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from biasatlas import ROOT
from biasatlas.benchmarks import registry
from biasatlas.benchmarks.comparisons.cards import card_file, made_from, sentence
from biasatlas.benchmarks.contract import ReadingStep
from biasatlas.benchmarks.families.decisions.spec import DecisionsDescription
from biasatlas.benchmarks.families.description import Rows
from biasatlas.benchmarks.scaffold import check_described
from biasatlas.benchmarks.shared.audit import audit
from biasatlas.errors import UserError
from biasatlas.files import write_csv
from biasatlas.models.simulated.entry import SimulatedEntry
from biasatlas.resources import Resources
from biasatlas.simulation import claims, direct, experiment, ngrams, own_group, rounds
from biasatlas.simulation.harness import Harness
from biasatlas.simulation.studies import Study, load_studies, studies_of
from biasatlas.simulation.validity import cards, inconclusive, settings_table
from biasatlas.sources import names_in, raw_files
from biasatlas.stats.intervals import MIN_CLUSTERS
from biasatlas.userfiles import listed

_WAYS: dict[str, Callable[..., pd.DataFrame]] = {
    "tables": experiment.run,
    "evidence": claims.run,
    "regression": own_group.run,
    "answers": direct.run,
    "ngrams": ngrams.run,
    "rounds": rounds.run,
}


def measure(study: Study, setting: str, bench: Harness, seeds: int) -> pd.DataFrame:
    """As :func:`biasatlas.simulation.experiment.run`, in the way that the study names, with this number of ``seeds``.
    ``bench`` has the study's requests."""
    return _WAYS[study.by](study, setting, bench.under(study.nuisance(setting)), study.seeds(setting, seeds))


#: This many times as many models are asked if a headline's card is inconclusive. With 40 and then 200 models, a metric
#: that calls a tenth of fair models biased passes in fewer than one case of twenty, both chances together.
MORE = 5


def validate_description(name: str, data: str, seeds: int) -> Iterator[str]:
    """Measure every headline of benchmark ``name`` on simulated models of the items in folder ``data`` ('': its
    sample).

    It asks ``seeds`` models of each bias and, without bias, under each nuisance, and MORE times as many where a card
    is inconclusive. It yields a line for each setting that is done, and writes the cards beside the description.
    Raises UserError as :func:`test_description`, and if the studies ship or no headline has a null.
    """
    folder, items = described_items(name, data)
    described, path = registry.description(name), card_file(name)
    own = [study for study in load_studies().values() if study.benchmark == name]
    if own or path is None or not isinstance(described, Rows):
        raise UserError(f"{name}: its studies ship with the workflow (docs/validity.md). Name a description of yours.")
    if note := registry.load_spec(name).note:
        raise UserError(f"{name}: {note}")
    counts = items["category"].value_counts()
    studies = studies_of(name, described.family, counts.index[counts >= MIN_CLUSTERS])
    if not studies:
        raise UserError(
            f"{name}: no headline of it says what a model without bias has, so that nothing can be validated. Pairs "
            "need `directions`, `stereotype` by category or a `prompt`; contexts have no such headline."
        )
    asked = {(task, setting): seeds for task, study in studies.items() for setting in study.settings()}
    runs: dict[str, dict[str, pd.DataFrame]] = {task: {} for task in studies}
    # Ctrl-C reaches all processes of the terminal: workers end by it, and nothing that waits begins.
    pool = ProcessPoolExecutor(initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_DFL))
    try:
        while asked:
            made = {
                key: pool.submit(_experiment, studies[key[0]], items, count, key[1]) for key, count in asked.items()
            }
            for (task, setting), count in asked.items():
                runs[task][setting] = made[task, setting].result()
                yield f"{task}: {setting}: {count} models"
            tables = [settings_table(task, study, runs[task], "own") for task, study in studies.items()]
            more = inconclusive(pd.concat(tables, ignore_index=True))
            asked = {
                (task, setting): MORE * seeds
                for task, setting in asked
                if asked[task, setting] == seeds and setting in more.get(task, ())
            }
    finally:
        pool.shutdown(cancel_futures=True)
    fitting = {task: study.fitting() for task, study in studies.items()}
    found = cards(pd.concat(tables, ignore_index=True), fitting).assign(made_from=made_from(name, folder))
    write_csv(found, path)
    for card in found.to_dict("records"):
        yield f"{card['metric']}, {sentence(card)}"
    yield f"{path}: written. Runs of these data judge by it, until the description or the data change."


def _experiment(study: Study, items: pd.DataFrame, seeds: int, setting: str) -> pd.DataFrame:
    return measure(study, setting, Harness.of_study(study, shipped_for(study.benchmark), items), seeds)


def test_description(name: str, data: str) -> tuple[str, bool]:
    """A text on what benchmark ``name`` makes of the files in folder ``data`` ('': its sample), and whether all scores
    are as theory says.

    Raises UserError if ``name`` is no described benchmark, and if there are no data.
    """
    _, items = described_items(name, data)
    spec = registry.load_spec(name)
    missing = sorted(set(next(iter(spec.tasks.values())).categories) - set(items["category"]))
    counts = ", ".join(f"{count} of {each}" for each, count in items["category"].value_counts(sort=False).items())
    lines = [f"{spec.title}: {len(items)} items ({counts}); categories without one: {listed(missing)}"]
    lines += [f"{item['item_id']}: {_in_words(item)}" for item in items.head(2).to_dict("records")]
    lines += audit(items, getattr(registry.description(name), "shuffle", False)) or ["nothing odd in these items"]
    lines += [spec.note] if spec.note else []
    found = validate_against_theory(name, items)
    wrong = found[~found["right"]]
    lines += [
        found.drop(columns="right").to_string(index=False, na_rep="none", float_format="%.2f"),
        f"{len(found) - len(wrong)} of {len(found)} as theory says",
        *(
            f"wrong: {row.respondent}: {row.metric} {row.condition} is {row.found:.4f}, by theory {row.theory:.4f}"
            for row in wrong.itertuples()
        ),
    ]
    return "\n".join(lines), wrong.empty


def described_items(name: str, data: str) -> tuple[Path, pd.DataFrame]:
    """The folder of a described benchmark's data, and its items."""
    check_described(name)
    sample = registry.load_spec(name).sample
    folder = Path(data) if data else ROOT / "resources" / "samples" / sample
    names = names_in(folder) if data or sample else []
    if not names:
        raise UserError(f"{name}: no data{f' in {data}' if data else ''}. Name their folder, as ./data.")
    return folder, registry.read_items(name)(raw_files(names, [folder / each for each in names]), Resources({}))


#: Columns of a case that are no factors.
_CASE = ("item_id", "category", "scenario", "arm", "placebo", "document")


def _in_words(item: dict[str, str]) -> str:
    """What an item is taken to mean, for a person who knows the data."""
    if "more" in item:
        return f"{item['more']!r} is the stereotype, {item['less']!r} is not"
    if "gold" in item and "target" not in item:
        return f"{item['condition']}, the right option is {item['gold']}: {item['question']!r}"
    if "document" in item:
        levels = [f"{name} {item[name]}" for name in item if name not in _CASE and item[name]]
        what = "a placebo" if item["placebo"] else ", ".join(levels) or "nothing changed"
        return f"{what} in scenario {item['scenario']!r}: {item['document']!r}"
    groups = ", ".join(f"{name} {item[item[name]]!r}" for name in ("target", "gold", "unknown"))
    return f"{item['context']!r} {item['question']!r}: {groups}"


RESPONDERS = {
    "perfect": SimulatedEntry(kind="simulated", right=1000.0, noise=0.0, quality=1.0, nats_per_token=0.0),
    "biased": SimulatedEntry(kind="simulated", bias=1000.0, noise=0.0),
    "coin": SimulatedEntry(kind="simulated", right=0.0, noise=0.0, nats_per_token=0.0),
    "first": SimulatedEntry(kind="simulated", letter=1000.0, noise=0.0),
    "refusing": SimulatedEntry(kind="simulated", refused=1.0),
    "half unreadable": SimulatedEntry(kind="simulated", unreadable=0.5, noise=0.0),
    "unknown": SimulatedEntry(kind="simulated", unknown=1000.0, noise=0.0),
}
_READ: tuple[ReadingStep, ...] = ("requests", "scores", "tables")
#: How far rounding may move a score from theory, in its unit.
_TOLERANCE = 1e-4


class Expected(NamedTuple):
    """What a respondent must score in the overall row of a table (of a ``condition``, or a factor); None: no score."""

    table: str
    condition: str
    metric: str
    scores: Mapping[str, float | None]


_PAIRS = [
    Expected("scores", "", "stereotype_score", {"perfect": 50, "biased": 100, "coin": 50}),
    Expected("scores", "", "likelihood_ratio", {"perfect": 1, "coin": 1}),
    Expected("scores", "", "log10_ratio", {"perfect": 1, "coin": 1}),
    Expected(
        "prompted", "", "stereotype_score", {"perfect": 50, "biased": 100, "coin": 50, "first": 50, "refusing": None}
    ),
    Expected("prompted", "", "refusal_rate", {"refusing": 100, "coin": 0}),
]
_QUESTIONS = [
    Expected("bias", "ambig", "accuracy", {"perfect": 100, "biased": 0, "coin": 100 / 3, "unknown": 100}),
    Expected("bias", "disambig", "accuracy", {"perfect": 100, "coin": 100 / 3, "unknown": 0, "refusing": None}),
    Expected("bias", "ambig", "bias_score", {"perfect": 0, "biased": 100, "coin": 0, "unknown": 0}),
    Expected("bias", "disambig", "bias_score", {"perfect": 0, "biased": 100, "coin": 0, "unknown": 0}),
    Expected("bias", "ambig", "accuracy_gap", {"perfect": 0, "biased": 100, "coin": 0}),
    Expected("bias", "disambig", "accuracy_gap", {"perfect": 0, "biased": 100, "coin": 0}),
    Expected("bias", "ambig", "biased_share", {"perfect": 0, "biased": 100, "coin": 100 / 3}),
    Expected("bias", "disambig", "biased_share", {"biased": 100, "coin": 50}),
    Expected("bias", "ambig", "refusal_rate", {"refusing": 100, "coin": 0}),
    Expected("bias", "disambig", "unparseable_rate", {"half unreadable": 50, "coin": 0}),
]


def shipped_for(benchmark: str) -> Resources:
    """The shipped files that requests, scores and tables of a benchmark read."""
    return Resources.shipped(*(name for step in _READ for name in registry.resource_names(benchmark, step)))


def validate_against_theory(benchmark: str, items: pd.DataFrame, protocol: str = "recommended") -> pd.DataFrame:
    """A row for each respondent and score: ``table``, ``condition``, ``metric``, ``respondent``, ``theory``, ``found``,
    ``right``.

    The scores come from the benchmark's own requests, scores and tables of the ``items``; ``theory`` is missing where
    there is no score.
    """
    spec = registry.load_spec(benchmark)
    bench = Harness.of(benchmark, protocol, shipped_for(benchmark), items, list(spec.tasks))
    made: dict[tuple[str, str], pd.DataFrame] = {}
    scores: dict[str, pd.DataFrame] = {}
    rows = []
    for expected in _theory(benchmark, items):
        if expected.table not in spec.tables or expected.metric not in spec.metrics:
            continue
        for respondent, theory in expected.scores.items():
            key = expected.table, respondent
            if respondent not in scores:
                scores[respondent] = bench.scores(RESPONDERS[respondent], respondent)
            made[key] = made[key] if key in made else bench.table(expected.table, scores[respondent])
            found = _overall(made[key], expected)
            wanted = float("nan") if theory is None else float(theory)
            right = abs(found - wanted) <= _TOLERANCE or (found != found and wanted != wanted)
            rows.append((*expected[:3], respondent, wanted, found, right))
    columns = ["table", "condition", "metric", "respondent", "theory", "found", "right"]
    return pd.DataFrame(rows, columns=columns)


def _theory(benchmark: str, items: pd.DataFrame) -> Iterator[Expected]:
    described = registry.description(benchmark)
    if described is None:
        raise ValueError(f"{benchmark} has no description; its theory is in tests/unit/simulated_models.yaml")
    if described.family == "pairs":
        yield from _PAIRS
        return
    if described.family == "contexts":
        yield from _contexts(items)
        return
    if isinstance(described, DecisionsDescription):
        yield from _decisions(described, items)
        return
    yield from _QUESTIONS
    for condition, group in items.groupby("condition"):
        first = 100 * float((group["gold"] == "A").mean())
        yield Expected("bias", str(condition), "accuracy", {"first": first})


def _contexts(items: pd.DataFrame) -> Iterator[Expected]:
    """A respondent that answers at random is right in a third of the questions in which groups differ, and
    distinguishes the groups in two thirds of the others."""
    differ, equal = (items[items["condition"] == name] for name in ("differ", "equal"))
    first = 100 * float((differ["gold"] == "A").mean())
    drawn = 100 * len(differ) / (len(differ) + 2 * len(equal))
    always = 100 * first * len(differ) / (first * len(differ) + 100 * len(equal))
    awareness = {"perfect": 100, "coin": 100 / 3, "first": first, "unknown": 0, "refusing": None}
    contextual = {"perfect": 100, "coin": drawn, "first": always, "unknown": None, "refusing": None}
    yield Expected("awareness", "", "difference_awareness", awareness)
    yield Expected("awareness", "", "contextual_awareness", contextual)
    yield Expected("awareness", "", "refusal_rate", {"refusing": 100, "coin": 0})


def _decisions(described: DecisionsDescription, items: pd.DataFrame) -> Iterator[Expected]:
    """Cases differ only by their level: a respondent that decides by it gives it the least favourable answer; the
    answers of others do not depend on it."""
    values = list(described.labels.values())
    worst = min(values) - sum(values) / len(values)
    alone = bool((items[list(described.factors)].notna().sum(axis=1) <= 1).all())
    for name, factor in described.factors.items():
        if not items[name].isin(factor.compared).any():
            continue
        fair = dict.fromkeys(("perfect", "coin", "first", "half unreadable"), 0.0)
        biased = {"biased": worst} if alone else {}
        yield Expected("shifts", name, "shift_over_placebos", {**fair, **biased, "refusing": None})
        yield Expected("shifts", name, "refusal_rate", {"refusing": 100, "coin": 0})


def _overall(table: pd.DataFrame, expected: Expected) -> float:
    """The value in the row of all items."""
    rows = table[(table["category"] == "overall") & (table["metric"] == expected.metric)]
    if expected.condition:
        rows = rows[rows[next(name for name in ("condition", "factor") if name in rows)] == expected.condition]
    for column in rows.columns.intersection(["direction", "template", "label_type"]):
        rows = rows[rows[column] == "all"]
    return float(rows["value"].iloc[0]) if len(rows) else float("nan")
