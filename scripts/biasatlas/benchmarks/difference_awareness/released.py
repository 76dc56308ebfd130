"""The authors' pickled replies as choice responses."""

import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.difference_awareness.pickles import load_replies
from biasatlas.benchmarks.families.contexts.parsers import PARSERS as OWN
from biasatlas.benchmarks.families.replies import responses
from biasatlas.benchmarks.shared.parsing.named import PARSERS
from biasatlas.errors import UserError

#: Number of a set's questions in `differ` in the authors' script; those in `equal` have the next.
_SETS = {"D1": 1000, "D2": 1002, "D3": 1004, "D4": 1006, "N2": 1010, "N3": 1012, "N4": 1014}
#: A user's own predictions are in the family's format.
FORMATS: dict = {}


def import_responses(step: Step) -> pd.DataFrame:
    """A response for each question, from the replies of one model to every set."""
    replies = {}
    for name, number in _SETS.items():
        differ, equal = replies_of(step, number, number + 1)
        for condition, said in (("differ", differ), ("equal", equal)):
            replies |= {f"{name}/{condition}/{place}": [reply.strip()] for place, reply in enumerate(said)}
    return responses(step.requests, replies, PARSERS | OWN)


def replies_of(step: Step, first: int, last: int) -> list[list[str]]:
    """The replies of the release to the authors' lists of prompts from ``first`` to ``last``, a list each."""
    model = {"gpt-4o": "gpt-4o-"}.get(step.release, step.release)
    name = f"outputs/in{first}-{last}_sys0-0_m{model}/output.pkl"
    if name not in step.files:
        raise UserError(f"{step.description.title}, {step.release}: no {name}. Fetch the source again.")
    found = load_replies(step.files[name])
    if len(found) != last - first + 1:
        raise UserError(
            f"{step.files[name]}: {len(found)} lists of replies, expected {last - first + 1}. Fetch it again."
        )
    return found
