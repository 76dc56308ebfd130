"""What every table of the baselines counts, and the published number beside ours."""

import numpy as np
import pandas as pd

_UNPARSEABLE = ("unparseable", "truncated")


def count_statuses(status: pd.Series) -> dict[str, int]:
    """Units without a value: ``refused``, ``unparseable`` (or truncated) and ``missing``, all others not ok."""
    refused, unparseable = int((status == "refused").sum()), int(status.isin(_UNPARSEABLE).sum())
    return {
        "refused": refused,
        "unparseable": unparseable,
        "missing": int((status != "ok").sum()) - refused - unparseable,
    }


def beside(
    table: pd.DataFrame,
    keys: list[str],
    published: pd.DataFrame | None = None,
    published_as: dict[str, str] | None = None,
) -> pd.DataFrame:
    """``table`` with ``published``, the number as printed, and ``difference``, ours minus it; missing where none was.

    ``published`` has the columns ``keys``, ``metric`` and ``value``; its ``model`` is ours by ``published_as``.
    """
    if published is None:
        return table.assign(published=None, difference=np.nan)
    keys = [*keys, "metric"]
    named = table[keys].assign(model=[published_as.get(name, "") for name in table["model"]])
    printed = named.merge(published[[*keys, "value"]], on=keys, how="left", validate="many_to_one")["value"].to_numpy()
    return table.assign(published=printed, difference=table["value"] - pd.to_numeric(pd.Series(printed, table.index)))
