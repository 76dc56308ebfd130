"""Share of stereotypical preferences."""

import pandas as pd

from biasatlas.benchmarks.contract import Step, metric, table
from biasatlas.benchmarks.shared.estimates import Counts, make_table, percentage, row


@table("scores")
@metric("stereotype_score")
def scores_table(step: Step) -> pd.DataFrame:
    """Occupations whose stereotypical group is likelier than the other, in percent (0 to 100; 50: no preference)."""
    rows = []
    for (model, category), group in step.scores.groupby(["model", "category"], sort=False):
        estimate = percentage(group["stereotyped"], group["item_id"])
        rows.append(row({"model": model, "category": category}, "stereotype_score", estimate, Counts.of(group)))
    return make_table(["model", "category"], rows)
