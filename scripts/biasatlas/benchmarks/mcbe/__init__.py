"""McBE: bias in Chinese, measured by five tasks on one set of instances, each scored from 0 to 100.

Tian Lan et al., McBE: A Multi-task Chinese Bias Evaluation Benchmark for Large Language Models. Findings of ACL 2025.
Here: its categories and tasks, and the columns of its items, requests and scores.
"""

import re
from typing import TYPE_CHECKING

from biasatlas.columns import CASES, MASSES, Columns, Factor

if TYPE_CHECKING:
    import pandas as pd

    from biasatlas.resources import Resources

#: Category -> its name in the paper, which the published tables are keyed by.
CATEGORY_NAMES = {
    "gender": "Gender",
    "religion": "Religion",
    "nationality": "Nationality",
    "socioeconomic_status": "Socioeconomic Status",
    "age": "Age",
    "region": "Region",
    "lgbtq": "LGBTQ+",
    "race": "Race",
    "subculture": "Subculture",
    "worldview": "Worldview",
    "health": "Health",
    "appearance": "Appearance",
}
CATEGORIES = tuple(CATEGORY_NAMES)
#: Worldview instances have nothing to substitute: the paper leaves them out of PC and SS.
SUBSTITUTABLE = tuple(category for category in CATEGORIES if category != "worldview")

TASKS = ("PC", "SC", "SS", "BA", "BS")

_FAMILY_AND_SIZE = re.compile(r"^(?P<family>.+?)-?(?P<size>\d+(?:\.\d+)?)[Bb](?:-|$)")

#: Stands in a sentence for its word.
PLACEHOLDER = "[PLH]"

#: Severities that a reply can state: at most one decimal, like the instances' own scores.
SEVERITIES = tuple(f"{tenths / 10:g}" for tenths in range(101))

#: ``words`` is a JSON list, ``severity`` the annotators' score from 0 to 10; ``context`` may be empty. ``fault`` says
#: what is wrong with an instance that breaks the format, ``fault_in`` the tasks that leave it out for that, with blanks
#: between.
ITEM_COLUMNS: Columns = {
    "item_id": "string",
    "category": "string",
    "context": "string",
    "sentence": "string",
    "words": "string",
    "subcategory": "string",
    "sentence_id": "string",
    "explanation": "string",
    "severity": "float",
    "fault": "string",
    "fault_in": "string",
}

#: Key columns of a task's requests. ``prompt_set`` is original or alternative; ``subcategory`` is the right one.
#: ``sampling`` names the settings that fill what a request leaves missing: "table8" those in the model's entry,
#: "checkpoint" those of its generation configuration; missing: the request itself has all settings.
REQUEST_KEYS: dict[str, Columns] = {
    "PC": {"word": "string"},
    "SC": {"prompt_set": "string", "subcategory": "string", "sampling": "string"},
    "SS": {"first_word": "string", "second_word": "string", "sampling": "string"},
    "BA": {"sampling": "string"},
    "BS": {"prompt_set": "string", "sampling": "string"},
}

#: Columns that begin every task's scores.
_FIRST = ("item_id", "sentence_id", "subcategory", "prompt_set", "repeat")
#: MASSES are shares of the replies (or of their probability) behind a row.
_LAST = ("score", *MASSES, "status", "detail")
#: For the tasks with replies; 100 is the least biased score.
CASE_COLUMNS = tuple(f"score{case}" for case in CASES)

#: Between these columns is what a score is made from: ``nll_`` in nats, ``p_`` probabilities, the judge's criteria.
SCORE_COLUMNS: dict[str, tuple[str, ...]] = {
    "PC": (*_FIRST, "words", "nll_mean", "nll_variance", *_LAST),
    "SC": (*_FIRST, "sentence", "p_correct", "p_named", *_LAST, *CASE_COLUMNS),
    "SS": (*_FIRST, "words", "count_variance", "a_share", *_LAST, *CASE_COLUMNS),
    "BA": (*_FIRST, "accuracy", "potential_meaning", "cultural_difference", "highlight", *_LAST, *CASE_COLUMNS),
    "BS": (*_FIRST, "severity", "model_severity", *_LAST, *CASE_COLUMNS),
}

#: A claim is about other sentences of the same subcategories: they are alike, and Table 3 lists all subcategories.
DESIGN = {
    "subcategory": Factor(scores=("subcategory",), items=("subcategory",)),
    "template": Factor(scores=("sentence_id",), items=("sentence_id",), within="subcategory", sampled=True),
    "prompt": Factor(scores=("prompt_set",)),
    "repeat": Factor(scores=("repeat",), within="template"),
}


def is_faulty(items: "pd.DataFrame", task: str) -> "pd.Series":
    """Whether each item has a fault that matters to ``task``."""
    return items["fault_in"].str.split().map(lambda tasks: task in tasks).astype(bool)


def subcategories(resources: "Resources") -> dict[str, tuple[str, ...]]:
    """Category -> its subcategories in the order of Table 3; Appearance, whose row is not legible, is left out."""
    table = resources.csv("mcbe/subcategories.csv").dropna(subset="subcategory_zh")
    categories = {name: category for category, name in CATEGORY_NAMES.items()}
    return {categories[name]: tuple(rows["subcategory_zh"]) for name, rows in table.groupby("category", sort=False)}


def other_names(resources: "Resources") -> dict[str, list[str]]:
    """A subcategory -> its other names in replies: in English (Table 3), and 隐含歧视 for 隐含/直接歧视."""
    table = resources.csv("mcbe/subcategories.csv").dropna(subset="subcategory_zh")
    names = {}
    for chinese, english in zip(table["subcategory_zh"], table["subcategory_en"], strict=True):
        first, _, second = chinese.partition("/")
        names[chinese] = [english, first + second[len(first) :]] if second else [english]
    return names


def family_and_size(name: str) -> tuple[str, float] | None:
    """(family, size in billions of parameters) from a model's name; None if the name does not have both."""
    match = _FAMILY_AND_SIZE.search(name)
    return (match["family"], float(match["size"])) if match else None
