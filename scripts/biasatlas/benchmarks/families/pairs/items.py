"""Rows of any table as pairs of texts."""

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.families.description import ROW
from biasatlas.benchmarks.families.pairs.spec import PairsDescription
from biasatlas.benchmarks.families.rows import check_ids, named, read_rows, written
from biasatlas.errors import UserError
from biasatlas.userfiles import listed


def read_items(step: Step) -> pd.DataFrame:
    """A row per record of the data and template of ``texts``, template by template.

    ``more`` is the text of the side that is the stereotype, ``less`` the other's; ``direction`` is that side, or what
    the description's ``directions`` say. Where there are several templates, they have a column, and their names follow
    the record's own in ``item_id``. What pairs have in common is in the column that the description names, or
    ``cluster``. Raises UserError naming file, line and value.
    """
    description: PairsDescription = step.description
    raw = read_rows(description, step.files, description.columns)
    category = named(raw, description.category, description.category_names)
    side = _side(description, raw, category)
    direction = side
    for column, values in description.directions.items():
        direction = named(raw, column, {value: value for value in values})
    first, second = description.sides
    name = written(description.item, raw)
    parts = []
    for template, texts in description.texts.items():
        sides = {side: written(texts[side], raw) for side in description.sides}
        is_first = side == first
        parts.append(
            pd.DataFrame(
                {
                    "item_id": name + f"/{template}" if description.template else name,
                    "category": category,
                    "direction": direction,
                    **dict.fromkeys(description.template, template),
                    description.cluster_name: written(description.cluster_text or f"{{{ROW}}}", raw),
                    "more": np.where(is_first, sides[first], sides[second]),
                    "less": np.where(is_first, sides[second], sides[first]),
                }
            )
        )
    items = pd.concat(parts, ignore_index=True)
    check_ids(raw, items)
    alike = items.loc[items["more"] == items["less"], "item_id"]
    if len(alike):
        raise UserError(
            f"{description.title}: both texts of {listed(alike)} are the same. Correct `texts`, or the data."
        )
    return items


def _side(description: PairsDescription, raw: pd.DataFrame, category: pd.Series) -> pd.Series:
    """The side of each row that is the stereotype."""
    rule = description.stereotype
    if isinstance(rule, dict):
        side = {name: side for side, categories in rule.items() for name in categories}
        return category.map(side)
    if rule in description.sides:
        return pd.Series(rule, raw.index)
    return named(raw, rule, {side: side for side in description.sides})
