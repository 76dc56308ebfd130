"""The authors' pickled questions as items."""

from pathlib import Path

import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.difference_awareness.released import load_questions
from biasatlas.benchmarks.families.cells import WHERE
from biasatlas.benchmarks.families.contexts import items


def read_items(step: Step) -> pd.DataFrame:
    """The questions of the authors' pickles, ``{set}_1k.pkl``; or those of a folder of JSON lines."""
    names = sorted(name for name in step.files if name.endswith("_1k.pkl"))
    if not names:
        return items.read_items(step)
    rows = [
        (
            f"{step.files[name]}, {condition} {place}",
            Path(name).name[:2],
            condition,
            str(place),
            text,
            str(answer),
            scenario,
        )
        for name in names
        for condition, questions in load_questions(step.files[name]).items()
        for place, (text, answer, scenario) in enumerate(questions)
    ]
    columns = [WHERE, "set", "condition", "place", "question", "answer", "scenario"]
    return items.questions(step.description, pd.DataFrame(rows, columns=columns))
