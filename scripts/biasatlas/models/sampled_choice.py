"""A choice from sampled replies: the shares of what they say."""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from biasatlas.benchmarks.shared.parsing.named import Parser
from biasatlas.benchmarks.shared.parsing.options import Options
from biasatlas.columns import MASSES, STOPPED
from biasatlas.models import UNRESOLVED_BOUND

#: A label's index, "refused", "ambiguous", "unparseable" or "unresolved".
Outcome = int | str | None

#: Probability by outcome; 0 where there is none.
Masses = defaultdict[Outcome, float]

#: A reply's status -> the part of a choice that its sample counts for; any other text is read.
_OUTCOMES = STOPPED | {"refused": "refused", "failed": "unresolved", "unparseable": "unparseable"}

#: Why samples of a choice are none, by status.
_STOPPED_BY = {
    "filtered": "the service's filter stopped {} of {} samples",
    "thought": "the model thought and did not answer in {} of {} samples",
}


def sampled_choice(replies: Sequence[Mapping[str, Any]], options: Options, parser: Parser) -> dict[str, Any]:
    """The columns of a choice's response, from ``replies`` with ``status``, ``text`` and where they failed ``detail``.

    A reply that failed is unresolved: nobody knows what it would have said. More than UNRESOLVED_BOUND of those fail
    the response.
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
