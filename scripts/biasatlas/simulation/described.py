"""A described benchmark on simulated models: scores against theory, and what its headlines mistake for bias."""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import pandas as pd

from biasatlas import ROOT
from biasatlas.benchmarks import registry
from biasatlas.benchmarks.comparisons.cards import card_file, made_from, sentence
from biasatlas.benchmarks.families.description import Rows
from biasatlas.benchmarks.scaffold import check_described
from biasatlas.benchmarks.shared.audit import audit
from biasatlas.errors import UserError
from biasatlas.files import write_csv
from biasatlas.resources import Resources
from biasatlas.simulation.harness import Harness
from biasatlas.simulation.simulated_models import shipped_for, validate_against_theory
from biasatlas.simulation.studies import Study, load_studies, studies_of
from biasatlas.simulation.validity import cards, settings_table
from biasatlas.simulation.ways import measure
from biasatlas.sources import names_in, raw_files
from biasatlas.userfiles import listed


def test_description(name: str, data: str) -> tuple[str, bool]:
    """What is to be read about benchmark ``name`` on the files of folder ``data`` ('': its sample), and whether all is right.

    Raises UserError for a name that is no described benchmark's, and where there are no data.
    """
    _, items = _items(name, data)
    spec = registry.load_spec(name)
    missing = sorted(set(next(iter(spec.tasks.values())).categories) - set(items["category"]))
    counts = ", ".join(f"{count} of {each}" for each, count in items["category"].value_counts(sort=False).items())
    lines = [f"{spec.title}: {len(items)} items ({counts}); categories without one: {listed(missing)}"]
    lines += [f"{item['item_id']}: {_in_words(item)}" for item in items.head(2).to_dict("records")]
    lines += audit(items) or ["nothing odd in these items"]
    found = validate_against_theory(name, items)
    wrong = found[~found["right"]]
    lines += [
        found.drop(columns="right").to_string(index=False, na_rep="none", float_format="%.2f"),
        f"{len(found) - len(wrong)} of {len(found)} as theory says",
        *(
            f"wrong: {row.responder}: {row.metric} {row.condition} is {row.found:.4f}, by theory {row.theory:.4f}"
            for row in wrong.itertuples()
        ),
    ]
    return "\n".join(lines), wrong.empty


def validate_description(name: str, data: str, seeds: int) -> Iterator[str]:
    """Measure every headline of benchmark ``name`` on simulated models of the items in folder ``data`` ('': its sample).

    So many models (``seeds``) of each bias, and under each nuisance without bias, which say as they come how they did. The
    cards go beside the description. Raises UserError as :func:`test_description`, and where studies or nothing are there.
    """
    folder, items = _items(name, data)
    described, path = registry.description(name), card_file(name)
    own = [study for study in load_studies().values() if study.benchmark == name]
    if own or path is None or not isinstance(described, Rows):
        raise UserError(f"{name}: its studies ship with the workflow (docs/validity.md). Name a description of yours.")
    studies = studies_of(name, described.family)
    if not studies:
        raise UserError(
            f"{name}: no headline of it says what a model without bias has, so that nothing can be validated. Pairs need "
            "`directions`, `stereotype` by category or a `prompt`; contexts have no such headline."
        )
    tables = []
    with ProcessPoolExecutor() as pool:
        for task, study in studies.items():
            settings = study.settings()
            made = pool.map(partial(_experiment, study, items, seeds), settings)
            runs: dict[str, pd.DataFrame] = {}
            for setting, frame in zip(settings, made, strict=True):
                runs[setting] = frame
                yield f"{task}: {setting}: {frame['seed'].nunique()} models"
            tables.append(settings_table(task, study, runs, "own"))
    fitting = {task: study.fitting() for task, study in studies.items()}
    found = cards(pd.concat(tables, ignore_index=True), fitting).assign(made_from=made_from(name, folder))
    write_csv(found, path)
    for card in found.to_dict("records"):
        yield f"{card['metric']}, {sentence(card)}"
    yield f"{path}: written. Runs of these data judge by it, until the description or the data change."


def _experiment(study: Study, items: pd.DataFrame, seeds: int, setting: str) -> pd.DataFrame:
    return measure(study, setting, Harness.of_study(study, shipped_for(study.benchmark), items), seeds)


def _items(name: str, data: str) -> tuple[Path, pd.DataFrame]:
    """The folder of a described benchmark's data, and its items."""
    check_described(name)
    sample = registry.load_spec(name).sample
    folder = Path(data) if data else ROOT / "resources" / "samples" / sample
    names = names_in(folder) if data or sample else []
    if not names:
        raise UserError(f"{name}: no data. Name their folder, as DATA=./folder.")
    return folder, registry.read_items(name)(raw_files(names, [folder / each for each in names]), Resources({}))


#: Columns of a case that are no factor's.
_CASE = ("item_id", "category", "scenario", "arm", "placebo", "document")


def _in_words(item: dict[str, str]) -> str:
    """What an item is taken to mean, to be read by who knows the data."""
    if "more" in item:
        return f"{item['more']!r} is the stereotype, {item['less']!r} is not"
    if "gold" in item and "target" not in item:
        return f"{item['condition']}, the right option is {item['gold']}: {item['question']!r}"
    if "document" in item:
        levels = [f"{name} {item[name]}" for name in item if name not in _CASE and item[name]]
        what = "a placebo" if item["placebo"] else ", ".join(levels) or "nothing changed"
        return f"{what} in scenario {item['scenario']!r}: {item['document']!r}"
    roles = ", ".join(f"{role} {item[item[role]]!r}" for role in ("target", "gold", "unknown"))
    return f"{item['context']!r} {item['question']!r}: {roles}"
