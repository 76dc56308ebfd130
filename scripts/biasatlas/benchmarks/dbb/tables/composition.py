"""Table 3 of the paper: test instances by category."""

from collections.abc import Mapping

import pandas as pd

from biasatlas.benchmarks.contract import metric, table
from biasatlas.benchmarks.dbb.options import DBBOptions
from biasatlas.benchmarks.dbb.vocabulary import CATEGORIES, TEMPLATES
from biasatlas.benchmarks.shared.estimates import Counts, Estimate, Published, make_table, row


@table("composition")
@metric("instances")
def composition(
    scores: pd.DataFrame, options: DBBOptions, published: Published, published_as: Mapping[str, str]
) -> pd.DataFrame:
    """``instances``: the number of test instances by category; ``failed`` counts those whose template has a fault.

    A count of the data, so answers that refuse or cannot be read do not matter. The paper's appendix also writes 27,864
    for Religions, which would not add up to its 103,649. Its numbers stand beside those of its own templates only.
    """
    printed = published("dbb_composition").set_index("category")["test_instances"]
    printed["All"] = str(printed.astype(int).sum())
    is_papers = scores["template_id"].nunique() == TEMPLATES
    instances = scores[scores["model"] == scores["model"].iloc[0]]
    rows = []
    for category in ("All", *CATEGORIES):
        group = instances if category == "All" else instances[instances["category"] == category]
        if group.empty:
            continue
        faulty = int((group["status"] == "failed").sum())
        estimate = Estimate(len(group), n=len(group) - faulty)
        counts = Counts(failed=faulty)
        rows.append(
            row({"category": category}, "instances", estimate, counts, printed[category] if is_papers else None)
        )
    return make_table(["category"], rows)
