"""The studies of the simulation: ``resources/simulation/studies.yaml``, typed. Light to import: planning reads it."""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, field_validator

from biasatlas import ROOT
from biasatlas.models.simulated.entry import SimulatedEntry
from biasatlas.validation import read_yaml, validated

FILE = ROOT / "resources" / "simulation" / "studies.yaml"

#: Stands in a nuisance for every second group of each category.
HALF = "half"


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Headline(_Section):
    """One row of a table, by its keys and metric; ``test`` is the metric of its p-value ('': its interval decides).

    In the file a key may have several values: a row for each, and for each of every other key.
    """

    table: str
    metric: str
    keys: dict[str, str]
    test: str = ""


class Study(_Section):
    """Simulated models on some tasks of a benchmark, and the headlines that are looked at.

    ``by`` "tables": scores and tables are made of every model's answers; "regression": TWBias's regressions are made ready
    once (:mod:`.own_group`), which takes a hundredth of the time; "answers": answers to the questions and pairs of one task stay
    numbers until they are estimated (:mod:`.direct`), which takes a tenth.
    """

    benchmark: str
    protocol: str = "recommended"
    by: Literal["tables", "regression", "answers"] = "tables"
    tasks: list[str]
    categories: list[str] = []
    base: dict[str, Any]
    doses: list[float]
    nuisances: dict[str, dict[str, Any]]
    headlines: list[Headline]

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

    def settings(self) -> dict[str, dict[str, Any]]:
        """Every setting by its name: ``bias-{dose}``, and each nuisance without bias."""
        doses = {f"bias-{dose:g}": self.base | {"bias": dose} for dose in self.doses}
        return doses | {name: self.base | changed for name, changed in self.nuisances.items()}

    def entry(self, setting: str, seed: int, groups: Mapping[str, Sequence[str]]) -> SimulatedEntry:
        """The model of a setting; ``groups`` are those that its requests are about, in order, by category."""
        half = sorted({name for names in groups.values() for name in names[::2]})
        values = {
            name: dict.fromkeys(half, value[HALF]) if isinstance(value, dict) and HALF in value else value
            for name, value in self.settings()[setting].items()
        }
        return SimulatedEntry.model_validate({"kind": "simulated", "seed": seed} | values)


class _Studies(_Section):
    studies: dict[str, Study]


@cache
def load_studies() -> dict[str, Study]:
    """Every study by its name."""
    return validated(_Studies, {"studies": read_yaml(FILE)}, str(FILE.relative_to(ROOT))).studies
