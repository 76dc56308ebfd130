"""Studies measured, each in the way that it names; and a user's benchmark validated by such a study."""

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor

import pandas as pd

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.comparisons.cards import card_file, made_from, sentence
from biasatlas.benchmarks.families.description import Rows
from biasatlas.errors import UserError
from biasatlas.files import write_csv
from biasatlas.simulation import claims, direct, experiment, ngrams, own_group, rounds
from biasatlas.simulation.described import described_items, shipped_for
from biasatlas.simulation.harness import Harness
from biasatlas.simulation.studies import Study, load_studies, studies_of
from biasatlas.simulation.validity import cards, inconclusive, settings_table
from biasatlas.stats.intervals import MIN_CLUSTERS

_WAYS: dict[str, Callable[..., pd.DataFrame]] = {
    "tables": experiment.run,
    "evidence": claims.run,
    "regression": own_group.run,
    "answers": direct.run,
    "ngrams": ngrams.run,
    "rounds": rounds.run,
}


def measure(study: Study, setting: str, bench: Harness, seeds: int) -> pd.DataFrame:
    """As :func:`biasatlas.simulation.experiment.run`, in the study's way, for so many ``seeds``; ``bench`` has what it
    asks."""
    return _WAYS[study.by](study, setting, bench.under(study.nuisance(setting)), study.seeds(setting, seeds))


#: How many times as many models are asked where the first ones leave a headline's card inconclusive. At 40 and 200 the
#: two chances to pass together let a share of a tenth called biased through in fewer than one case of twenty.
MORE = 5


def validate_description(name: str, data: str, seeds: int) -> Iterator[str]:
    """Measure every headline of benchmark ``name`` on simulated models of the items in folder ``data`` ('': its
    sample).

    So many models (``seeds``) of each bias, and under each nuisance without bias, which say as they come how they did;
    MORE times as many where these leave a headline's card inconclusive. The cards go beside the description. Raises
    UserError as :func:`test_description`, and where studies or nothing are there.
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
    with ProcessPoolExecutor() as pool:
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
    fitting = {task: study.fitting() for task, study in studies.items()}
    found = cards(pd.concat(tables, ignore_index=True), fitting).assign(made_from=made_from(name, folder))
    write_csv(found, path)
    for card in found.to_dict("records"):
        yield f"{card['metric']}, {sentence(card)}"
    yield f"{path}: written. Runs of these data judge by it, until the description or the data change."


def _experiment(study: Study, items: pd.DataFrame, seeds: int, setting: str) -> pd.DataFrame:
    return measure(study, setting, Harness.of_study(study, shipped_for(study.benchmark), items), seeds)
