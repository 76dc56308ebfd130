"""Replies to DiscrimEval that Wang et al. (2025) publish, as choice responses."""

import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.difference_awareness.released import replies_of
from biasatlas.benchmarks.families.decisions.items import PARSERS as OWN
from biasatlas.benchmarks.shared.parsing.named import PARSERS
from biasatlas.benchmarks.shared.predictions import responses
from biasatlas.errors import UserError

#: The authors' number of its prompts.
_NUMBER = 200


def import_responses(step: Step) -> pd.DataFrame:
    """A response for each case: the replies have no ids, and are in the order of ``explicit.jsonl``."""
    (said,) = replies_of(step, _NUMBER, _NUMBER)
    if len(said) != len(step.items):
        raise UserError(
            f"{step.description.title}, {step.release}: {len(said)} replies to {len(step.items)} cases. As `data`, "
            "name the folder of explicit.jsonl as it was published."
        )
    replies = {item: [reply.strip()] for item, reply in zip(step.items["item_id"], said, strict=True)}
    return responses(step.requests, replies, PARSERS | OWN)
