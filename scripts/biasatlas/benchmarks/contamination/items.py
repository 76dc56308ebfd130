"""The published lists of CrowS-Pairs and StereoSet in their order, and the likelihoods of their blocks."""

from pathlib import Path

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contamination.spec import CROWS_PAIRS, LISTS, PUBLISHED, ContaminationOptions
from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.shared.bias_roles import Roles, text_roles
from biasatlas.benchmarks.stereoset.items import read_examples
from biasatlas.benchmarks.stereoset.spec import SENTENCES
from biasatlas.errors import UserError
from biasatlas.userfiles import check_texts, listed, read_csv_rows, shown

#: Columns of CrowS-Pairs' table: its first has no name, and numbers the pairs.
_NUMBER, _PAIR = "", ("sent_more", "sent_less")


def read_items(step: Step) -> pd.DataFrame:
    """A row per item of each list whose file is there, in the published order; the list is its ``category``.

    ``text`` holds its sentences as published, a line each: both of a pair; the three of an intrasentence example; the
    context and three of an intersentence one. Raises UserError naming file and line for anything else than the
    published formats, and where there is no file of either benchmark.
    """
    pairs = [path for name, path in step.files.items() if "crows_pairs" in name]
    others = {name: path for name, path in step.files.items() if path not in pairs and path.suffix in (".json", ".csv")}
    if not pairs and not others:
        raise UserError(f"contamination: found no list of CrowS-Pairs or StereoSet among {listed(step.files)}.")
    lists = [_listed(_read_pairs(path), CROWS_PAIRS, _PAIR) for path in pairs]
    if others:
        for task, part in read_examples(others).groupby("task", sort=False):
            columns = ("context", *SENTENCES) if task == "intersentence" else SENTENCES
            lists.append(_listed(part, f"stereoset_{task}", columns))
    found = pd.concat(lists, ignore_index=True)
    return found.sort_values("category", key=lambda names: names.map(LISTS.index), kind="stable", ignore_index=True)


def _read_pairs(path: Path) -> pd.DataFrame:
    """The number (``item_id``) and both sentences of each pair."""
    pairs: dict[str, dict[str, str]] = {}
    for where, row in read_csv_rows(path, (_NUMBER, *_PAIR)):
        check_texts(where, row, _PAIR)
        number = row[_NUMBER]
        if not number or number in pairs:
            raise UserError(f"{where}: the number of the pair is {shown(number)}. Expected one of its own.")
        pairs[number] = {"item_id": number, **{name: row[name] for name in _PAIR}}
    return pd.DataFrame(list(pairs.values()))


def _listed(items: pd.DataFrame, name: str, columns: tuple[str, ...]) -> pd.DataFrame:
    text = items[list(columns)].agg("\n".join, axis=1)
    return pd.DataFrame({"item_id": name + "/" + items["item_id"], "category": name, "text": text})


def build_requests(step: Step[ContaminationOptions]) -> pd.DataFrame:
    """A row per block of neighbours and order of it; ``item_id`` and ``block`` are the id of the block's first item.

    A block has ``options.block`` items; the last one of a list has what is left, if two at least. Orders are drawn at
    random, so the published one may recur; they depend on the list alone, so all models read the same.
    """
    rows = []
    for name in step.categories:
        listed = step.items[step.items["category"] == name]
        rng = np.random.default_rng(list(name.encode()))
        for start in range(0, len(listed) - 1, step.options.block):
            block = listed.iloc[start : start + step.options.block]
            texts, first = block["text"].to_numpy(object), block["item_id"].iloc[0]
            drawn = [np.arange(len(block)), *(rng.permutation(len(block)) for _ in range(step.options.orders))]
            rows += [
                {
                    "request_id": f"{first}/{number}",
                    "item_id": first,
                    "kind": "likelihood",
                    "prefix": "",
                    "continuation": "\n".join(texts[order]),
                    "special_tokens": "once",
                    "boundary": "offsets",
                    "repeats": 1,
                    "block": first,
                    "order": PUBLISHED + number,
                    "length": len(block),
                }
                for number, order in enumerate(drawn)
            ]
    return pd.DataFrame(rows)


#: Columns of items in which the word frequencies of a simulated model are counted.
TEXTS = ("text",)


def bias_roles(step: Step) -> Roles:
    """``stereotype_sign`` is 0.5 for the published order, else -0.5; a block is a cluster, a list the group."""
    lists = step.items.set_index("item_id")["category"].loc[step.requests["item_id"]].to_numpy()
    about = pd.DataFrame({"cluster": step.requests["block"].to_numpy(), "category": lists, "group": lists})
    sign = (step.requests["order"] == PUBLISHED).to_numpy() - 0.5
    return text_roles(about, step.requests["request_id"], sign)
