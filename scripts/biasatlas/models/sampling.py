"""Sampled replies: settings that a protocol leaves to the model, and choices computed from replies."""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from biasatlas.benchmarks.shared.parsing.named import Parser
from biasatlas.benchmarks.shared.parsing.options import Options
from biasatlas.columns import MASSES, STOPPED
from biasatlas.errors import UserError
from biasatlas.models import UNRESOLVED_BOUND

SETTINGS = ("temperature", "top_p", "top_k", "repetition_penalty")


#: Name -> sampling settings and their values; one that is missing or None leaves the request's value unchanged.
Settings = Mapping[str, Mapping[str, float | None]]


def with_checkpoint(named: Settings, generation_config: Mapping[str, Any]) -> Settings:
    """The settings ``named`` in an entry, and under "checkpoint" those of its checkpoint's generation configuration."""
    return {**named, "checkpoint": {name: generation_config.get(name) for name in SETTINGS}}


def fill_sampling(requests: pd.DataFrame, sampling: Settings, model: str) -> pd.DataFrame:
    """``requests`` with the settings that their column ``sampling`` names; without that column, unchanged.

    Raises UserError for a name that the ``model``'s entry does not have.
    """
    if "sampling" not in requests:
        return requests
    named = requests["sampling"].where(requests["temperature"].isna())
    lacking = sorted(set(named.dropna()) - set(sampling))
    if lacking:
        raise UserError(
            f"model {model}: the protocol asks for the sampling settings {lacking[0]!r}, which its entry does not have "
            f"({', '.join(sampling) or 'it has none'}). Add models.{model}.sampling.{lacking[0]}, or choose a protocol "
            "with settings of its own."
        )
    filled = requests.copy()
    for setting in SETTINGS:
        values = named.map({name: values.get(setting) for name, values in sampling.items()}).astype(float)
        filled[setting] = filled[setting].astype(float).where(values.isna(), values)
    return filled


#: A label's index, "refused", "ambiguous", "unparseable" or "unresolved".
Outcome = int | str | None

#: Probability by outcome; 0 where there is none.
Masses = defaultdict[Outcome, float]

#: A reply's status -> the outcome that it counts as; with any other status, its text is parsed.
_OUTCOMES = STOPPED | {"refused": "refused", "failed": "unresolved", "unparseable": "unparseable"}

#: Status -> why samples of a choice have no answer.
_STOPPED_BY = {
    "filtered": "the service's filter stopped {} of {} samples",
    "thought": "the model thought and did not answer in {} of {} samples",
}


def sampled_choice(replies: Sequence[Mapping[str, Any]], options: Options, parser: Parser) -> dict[str, Any]:
    """The columns of a choice's response, from ``replies`` with ``status``, ``text`` and, if they failed, ``detail``.

    A reply that failed is unresolved: nobody knows what it would have said. If the share of these is above
    UNRESOLVED_BOUND, the response has failed.
    """
    failed = [reply["detail"] for reply in replies if reply["status"] == "failed"]
    if len(failed) == len(replies):
        return {"status": "failed", "detail": failed[0]}
    masses = _shares(replies, options, parser)
    status, detail = "ok", None
    if masses["unresolved"] > UNRESOLVED_BOUND:
        status, detail = "failed", f"{len(failed)} of {len(replies)} samples failed, as: {failed[0]}"
    elif stopped := Counter(reply["status"] for reply in replies if reply["status"] in STOPPED):
        status = stopped.most_common(1)[0][0] if stopped.total() == len(replies) else "ok"
        detail = "; ".join(_STOPPED_BY[name].format(count, len(replies)) for name, count in stopped.items())
    said = json.dumps([[reply["status"], reply.get("text") or ""] for reply in replies], ensure_ascii=False)
    return {"status": status, "detail": detail, "replies": said} | choice_columns(masses, options)


def choice_columns(masses: Masses, options: Options) -> dict[str, Any]:
    """The columns of a response that hold its probabilities."""
    probabilities = [float(masses[index]) for index in range(len(options))]
    return {"probabilities": json.dumps(probabilities), **{name: masses[name] for name in MASSES}}


def _shares(replies: Sequence[Mapping[str, Any]], options: Options, parser: Parser) -> Masses:
    counts: Counter[Outcome] = Counter()
    for reply in replies:
        outcome = _OUTCOMES.get(reply["status"])
        counts[parser.whole(reply["text"], options) if outcome is None else outcome] += 1
    return defaultdict(float, {outcome: count / len(replies) for outcome, count in counts.items()})
