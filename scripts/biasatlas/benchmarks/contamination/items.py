"""The published lists of CrowS-Pairs and StereoSet, in their order."""

import pandas as pd

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.contamination.spec import CROWS_PAIRS, LISTS
from biasatlas.benchmarks.contract import Step
from biasatlas.errors import UserError
from biasatlas.userfiles import listed

#: Columns of a pair's sentences, and of a StereoSet example's.
_PAIR = ("more", "less")
_TRIPLE = ("stereotype", "anti-stereotype", "unrelated")


def read_items(step: Step) -> pd.DataFrame:
    """A row per item of each list whose file is there, in the published order; the list is its ``category``.

    ``text`` holds its sentences as published, a line each: both of a pair; the three of an intrasentence example; the
    context and three of an intersentence one. Raises UserError as the benchmarks' own readers, and where no file is
    either's.
    """
    pairs = {name: path for name, path in step.files.items() if "crows_pairs" in name}
    others = {name: path for name, path in step.files.items() if name not in pairs and path.suffix in (".json", ".csv")}
    if not pairs and not others:
        raise UserError(f"contamination: found no list of CrowS-Pairs or StereoSet among {listed(step.files)}.")
    lists = []
    if pairs:
        items = registry.read_items("crows_pairs")(pairs, step.resources)
        lists.append(_listed(items, pd.Series(CROWS_PAIRS, items.index), _PAIR))
    if others:
        items = registry.read_items("stereoset")(others, step.resources)
        for task, part in items.groupby("task", sort=False):
            columns = ("context", *_TRIPLE) if task == "intersentence" else _TRIPLE
            lists.append(_listed(part, "stereoset_" + part["task"], columns))
    found = pd.concat(lists, ignore_index=True)
    return found.sort_values("category", key=lambda names: names.map(LISTS.index), kind="stable", ignore_index=True)


def _listed(items: pd.DataFrame, category: pd.Series, columns: tuple[str, ...]) -> pd.DataFrame:
    text = items[list(columns)].agg("\n".join, axis=1)
    return pd.DataFrame({"item_id": category + "/" + items["item_id"], "category": category, "text": text})
