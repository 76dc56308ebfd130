"""Printed numbers beside ours, of a run that has no replication report."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

import pandas as pd

from biasatlas.report.run import Run


def beside_print(runs: Sequence[Run], tables: Mapping[str, Mapping[str, pd.DataFrame]]) -> pd.DataFrame:
    """A row for each number of ``runs`` beside which one was printed; ``tables`` by the run's key and their name."""
    parts = []
    for run in runs:
        for name, table in tables[run.key].items():
            printed = table[table["published"].notna()]
            if printed.empty:
                continue
            keys = list(table.columns[: table.columns.get_loc("metric")])
            names = printed[[*keys, "metric"]].astype("string").fillna("")
            cells = [", ".join(filter(None, row)) for row in names.itertuples(index=False)]
            reproduced = printed["difference"].abs() <= printed["published"].map(_half_a_digit)
            parts.append(
                pd.DataFrame(
                    {
                        "paper": run.title,
                        "table": name,
                        "cell": cells,
                        "printed": printed["published"],
                        "ours": printed["value"],
                        "difference": printed["difference"],
                        "status": reproduced.map({True: "reproduced", False: "differs"}).where(
                            printed["value"].notna(), "not measured"
                        ),
                    }
                )
            )
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _half_a_digit(printed: str) -> float:
    """Half a unit of the last digit of a number as printed."""
    exponent = Decimal(printed).as_tuple().exponent
    return 0.5000001 * 10.0 ** int(exponent)
