"""Rows of any table as cases: a scenario's document, with what was changed in it."""

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.families.decisions.spec import BASELINE, ONE_CATEGORY, DecisionsDescription
from biasatlas.benchmarks.families.rows import check, check_ids, named, read_rows, written
from biasatlas.errors import UserError


def read_items(step: Step) -> pd.DataFrame:
    """A row per record of the data, in their order; see :func:`cases`."""
    return cases(step.description, read_rows(step.description, step.files, step.description.columns))


def cases(description: DecisionsDescription, raw: pd.DataFrame) -> pd.DataFrame:
    """A row per row of ``raw``, the data as :func:`.rows.read_rows` has them.

    ``item_id``, ``category``, ``scenario``, ``arm`` (what was changed, "" without such a column; "baseline": nothing),
    ``placebo`` (the kind of placebo that it is), ``document``, and a column for each factor: the level that a case has
    of it. Missing: none. Raises UserError naming file, line and value where a row is of no level, no placebo and not
    the baseline, where one of these has no row, and where no scenario has two cases.
    """
    arm = raw[description.arm] if description.arm else pd.Series("", raw.index)
    baseline = arm.eq(description.baseline) & bool(description.baseline)
    items = pd.DataFrame(
        {
            "item_id": written(description.item, raw),
            "category": named(raw, description.category, description.category_names)
            if description.category
            else ONE_CATEGORY,
            "scenario": written(description.scenario, raw),
            "arm": arm.mask(baseline, BASELINE),
            "placebo": arm.map(description.placebo_kind),
            "document": written(description.document, raw),
        }
    )
    control = items["placebo"].notna() | baseline
    known = control.copy()
    for name, factor in description.factors.items():
        level = {value: level for level, values in factor.values.items() for value in values}
        column = factor.column or description.arm
        items[name] = raw[column].map(level).where(~control)
        if factor.column:
            check(raw, items[name].notna() | control, column, f"one of {', '.join(level)}")
        known |= items[name].notna()
    if description.arm:
        check(raw, known, description.arm, "a level of a factor, a placebo or the baseline: name it in the description")
    check_ids(raw, items)
    gone = [each for each in [description.baseline, *description.placebo_kind] if each and not arm.eq(each).any()]
    if gone:
        raise UserError(
            f"{description.title}: no case has {description.arm} {gone[0]!r}, which the description names as "
            "the baseline or a placebo. Add its cases, or take it out of the description."
        )
    if items["scenario"].is_unique:
        raise UserError(
            f"{description.title}: scenario {description.scenario!r} is another one in each of {len(items)} cases, so "
            "that nothing can be compared. Name what the cases of a posting or a question share."
        )
    return items.astype(object).where(items.notna(), None).replace({np.nan: None})
