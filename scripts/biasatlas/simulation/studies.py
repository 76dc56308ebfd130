"""The studies of the simulation: ``resources/simulation/studies.yaml``, typed. Light to import: planning reads it."""

from collections.abc import Collection
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, Literal
from zlib import crc32

from pydantic import BaseModel, ConfigDict, field_validator

from biasatlas import ROOT
from biasatlas.benchmarks.registry import load_spec
from biasatlas.models.simulated.entry import SimulatedEntry
from biasatlas.simulation.nuisances import NUISANCES, Groups, Nuisance
from biasatlas.validation import read_yaml, validated

FILE = ROOT / "resources" / "simulation" / "studies.yaml"
#: For a described benchmark without a study of its own: family -> task -> the fields of its study.
FAMILIES = ROOT / "resources" / "simulation" / "families.yaml"

#: A setting's seeds start at a hash of its name in this range, so that two settings hardly ever share any.
_APART = 1 << 31


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Headline(_Section):
    """One row of a table, by its keys and metric; ``test`` is the metric of its p-value ('': its interval decides).

    In the file a key may have several values: there is a headline for every combination.
    """

    table: str
    metric: str
    keys: dict[str, str]
    test: str = ""

    @property
    def of(self) -> str:
        """The values of its keys in words, without "all"."""
        return ", ".join(value for value in self.keys.values() if value != "all")


class Study(_Section):
    """Simulated models on some tasks of a benchmark, and the headlines that are measured.

    ``by`` "tables": scores and tables are made from every model's answers; "evidence": whatever the benchmark's own
    headlines declare is measured (:mod:`.claims`); "regression": TWBias's regressions are prepared once
    (:mod:`.own_group`), which takes a hundredth of the time; "answers": answers to the questions and pairs of one task
    stay numbers until they are estimated (:mod:`.direct`), which takes a tenth; "ngrams": as "evidence", for word
    models trained on the texts or, with ``network`` in ``base``, for transformers (:mod:`.ngrams`); "rounds": as
    "evidence", for models that are asked in rounds (:mod:`.rounds`).

    To save time a study takes only every ``every``-th cluster (of a sample all), only the first of several prompts
    (``one_prompt``), and at most ``most`` seeds; a card says how many there were. Every nuisance that fits the tasks is
    tried (:mod:`.nuisances`), except those in ``without``; ``nuisances`` are further settings of the study, by name.
    Studies of trained models try only the latter: texts make these models what they are, and no function changes them.
    """

    benchmark: str
    protocol: str = "recommended"
    by: Literal["tables", "evidence", "regression", "answers", "ngrams", "rounds"] = "tables"
    tasks: list[str]
    categories: list[str] = []
    every: int = 1
    one_prompt: bool = False
    most: int = 500
    base: dict[str, Any]
    doses: list[float]
    nuisances: dict[str, dict[str, Any]] = {}
    without: list[str] = []
    headlines: list[Headline] = []

    @field_validator("headlines", mode="before")
    @classmethod
    def _every_row(cls, headlines: list[dict[str, Any] | Headline]) -> list[dict[str, Any] | Headline]:
        """A headline for every combination of its keys' values."""
        rows: list[dict[str, Any] | Headline] = []
        for each in headlines:
            if isinstance(each, Headline):
                rows.append(each)
                continue
            listed = {name: value if isinstance(value, list) else [value] for name, value in each["keys"].items()}
            rows += [each | {"keys": dict(zip(listed, values, strict=True))} for values in product(*listed.values())]
        return rows

    def fitting(self) -> list[str]:
        """Names of all nuisances that could be tried on it."""
        if self.by == "ngrams":
            return list(self.nuisances)
        spec = load_spec(self.benchmark)
        return [name for name, each in NUISANCES.items() if each.fits(spec, self.tasks)] + list(self.nuisances)

    def has(self, metric: str, of: str) -> bool:
        """Whether it has a headline; a study without headlines takes all that the benchmark's declare."""
        return not self.headlines or any((each.metric, each.of) == (metric, of) for each in self.headlines)

    def settings(self) -> list[str]:
        """Every setting by its name: ``bias-{dose}``, and each nuisance without bias."""
        return [f"bias-{dose:g}" for dose in self.doses] + [name for name in self.fitting() if name not in self.without]

    def dose(self, setting: str) -> float:
        """The bias of a setting's models."""
        return next((dose for dose in self.doses if setting == f"bias-{dose:g}"), 0.0)

    def nuisance(self, setting: str) -> Nuisance | None:
        """The nuisance function of a setting; None for a dose, and for the study's own ``nuisances``."""
        return None if setting in self.nuisances else NUISANCES.get(setting)

    def values(self, setting: str, groups: Groups) -> dict[str, Any]:
        """The fields of a setting's models; ``groups`` are those that its requests are about, in order, by category."""
        function = self.nuisance(setting)
        own = function.act(groups) if function and function.form == "groups" else self.nuisances.get(setting, {})
        return self.base | own | {"bias": self.dose(setting)}

    def entry(self, setting: str, seed: int, groups: Groups) -> SimulatedEntry:
        """The model of a setting."""
        return SimulatedEntry.model_validate({"kind": "simulated", "seed": seed} | self.values(setting, groups))

    def seeds(self, setting: str, count: int) -> range:
        """The seeds of ``count`` models, at most ``most``. Settings have different ones, so chance in one says nothing
        of another."""
        start = 1 + crc32(setting.encode()) % _APART
        return range(start, start + min(count, self.most))


class _Studies(_Section):
    studies: dict[str, Study]


def _load(studies: dict[str, Any], file: Path) -> dict[str, Study]:
    return validated(_Studies, {"studies": studies}, str(file.relative_to(ROOT))).studies


@cache
def load_studies() -> dict[str, Study]:
    """Every study by its name."""
    return _load(read_yaml(FILE), FILE)


def studies_of(benchmark: str, family: str, categories: Collection[str] | None = None) -> dict[str, Study]:
    """The studies of a described benchmark by task, with every headline that declares a null.

    Studies by "answers" also have each of the given ``categories`` (None: all).
    """
    spec, studies = load_spec(benchmark), {}
    for task, study in read_yaml(FAMILIES).get(family, {}).items():
        alone = [name for name in spec.tasks[task].categories if categories is None or name in categories]
        several = {"category": ["overall", *alone]} if study["by"] == "answers" else {}
        headlines = [
            {"table": each.table, "metric": each.metric, "keys": {**each.rows, **several}}
            for each in spec.headlines
            if each.null is not None and task in spec.tables[each.table].tasks
        ]
        if headlines:
            studies[task] = {**study, "benchmark": benchmark, "tasks": [task], "headlines": headlines}
    return _load(studies, FAMILIES)
