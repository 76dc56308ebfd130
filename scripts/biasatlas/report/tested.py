"""What validity cards and findings, all tests of the run counted, say of a row of a headline."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from biasatlas.benchmarks.comparisons.findings import CARD_METRICS, Card, about
from biasatlas.benchmarks.contract import Headline
from biasatlas.benchmarks.shared.evidence import OVERALL

#: Names under which tables have what is over all categories.
WHOLE = ("overall", "All", "all")


@dataclass(frozen=True)
class Outcome:
    """Of a test of the run: whether it survives them all, and its q-value (the false discovery rate at which it would)."""

    survives: bool
    q: float


class Judging:
    """The cards of a run's benchmark, and the run's findings (a table as ``findings_table`` makes it; None: no such tests)."""

    def __init__(self, cards: Sequence[Card], findings: pd.DataFrame | None = None):
        self._cards = cards
        self._outcomes: dict[tuple[str, str, str, str], Outcome] = {}
        if findings is not None:
            keys = ["model", "measure", "part", "category"]
            table = findings[findings["metric"].isin(["found", "q_value"])].fillna({"part": ""})
            for key, rows in table.groupby(keys, sort=False):
                numbers = rows.set_index("metric")["value"]
                model, measure, part, category = key
                named = (model, CARD_METRICS.get(measure, measure), part, category)
                self._outcomes[named] = Outcome(bool(numbers["found"]), float(numbers["q_value"]))

    def cards(self, headline: Headline, where: Mapping[str, str]) -> list[Card]:
        """The validity cards of the row whose keys are ``where``."""
        parts, category = _about(headline, where)
        return about(self._cards, headline.metric, parts, category)

    def outcome(self, headline: Headline, model: str, where: Mapping[str, str]) -> Outcome | None:
        """What became of a model's test of the row; None where there was none."""
        parts, category = _about(headline, where)
        if len(parts) > 1:
            return None
        return self._outcomes.get((model, headline.metric, parts[0] if parts else "", category))


def _about(headline: Headline, where: Mapping[str, str]) -> tuple[tuple[str, ...], str]:
    """Parts and category of the evidence that a row is of: its own task, where it is of one; two groups are a category."""
    task = where.get("task", OVERALL)
    parts = headline.parts if task in WHOLE else (task,)
    category = where["category"] if "category" in where else "-".join(_groups(where))
    return parts, OVERALL if category in WHOLE else category


def _groups(where: Mapping[str, str]) -> list[str]:
    return [value for key, value in where.items() if key in ("group", "other_group")]
