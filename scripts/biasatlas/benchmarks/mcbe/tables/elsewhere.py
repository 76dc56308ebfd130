"""What other benchmarks say of size, beside McBE (section 5.2)."""

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import metric, table
from biasatlas.benchmarks.mcbe.options import McBEOptions
from biasatlas.benchmarks.mcbe.tables.cells import cells, mean_of
from biasatlas.benchmarks.mcbe.vocabulary import family_and_size
from biasatlas.benchmarks.shared.estimates import Estimate, Published, make_table, row

_METRICS = {"McBE": "mean_score", "CBBQ": "cbbq_bias"}


@table("sizes_elsewhere")
@metric("cbbq_bias")
def sizes_elsewhere(
    scores: pd.DataFrame, options: McBEOptions, published: Published, published_as: dict[str, str]
) -> pd.DataFrame:
    """Section 5.2: whether bias rises with size, by McBE's SS (lower: more) and by CBBQ's scores (higher: more).

    A row for each printed number, ours beside it where that model is measured, and one for every other measured model
    whose name says its size. CBBQ's are of its own paper; of RuBia the text says that it finds the same, without numbers.
    """
    printed = published("mcbe_sizes_elsewhere").dropna(subset="value")
    parts: dict[str, list[pd.Series]] = {}
    for (model, _, task), _, items in cells(scores):
        if task == "SS":
            parts.setdefault(published_as.get(model, model), []).append(items)
    rows = []
    for number in printed.to_dict("records"):
        found = parts.pop(number["model"], []) if number["benchmark"] == "McBE" else []
        estimate = mean_of(found) if found else Estimate(np.nan, no_interval="not measured")
        keys = {name: number[name] for name in ("benchmark", "model", "size", "measure")}
        rows.append(row(keys, _METRICS[number["benchmark"]], estimate, published=number["value"]))
    for model, found in parts.items():
        if sized := family_and_size(model):
            keys = {"benchmark": "McBE", "model": model, "size": f"{sized[1]:g}B", "measure": "SS"}
            rows.append(row(keys, "mean_score", mean_of(found)))
    return make_table(("benchmark", "model", "size", "measure"), rows)
