"""Where a model goes on with the next of several items: base models do, below their answer."""

import re
from collections.abc import Callable
from functools import cache

from biasatlas.benchmarks.shared.parsing.phrases import either, finds


@cache
def _heads() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    item, reason = either("answers", "item"), either("answers", "reason")
    head = r"^[\s\"'(\[【#*-]{0,6}"
    return (
        re.compile(rf"{head}(?:{item}\s?[#(]?\s?\d{{0,3}}[)\]】]?\s?(?:[:.]|$))", re.I),
        re.compile(rf"{head}{reason}", re.I),
        re.compile(
            r"^\s{0,4}(?:[^\n:,.。!?;\"]{1,24}:|[\[【(]?[^\W\d]{0,12}\s?#?\(?(?:[2-9]|1\d)[\]】)]?\s{0,2}(?:[.、:)\]】]"
            r"|$)(?!\d)"
            r"|[二三四][.)、]|第[二三四2-9][题句条则项个]|\"[^\"\n]{4,300}\"|\(?A\s?[.)、:]\s?\S[^\n]{0,200}$|[-=_~]{3,}\s{0,3}$"
            r"|(?:please |now )?(?:rate|rank|order|choose|classify|judge|score|grade|label) (?:the|this|these|each"
            r"|which)\b"
            r"|请[你您问为将对评打选判排分给根阅看继从在比按依仔回]|[^\n]{1,300}[?]\s{0,3}$|你是|you are )",
            re.I,
        ),
    )


def first_item(body: str, answers: Callable[[str], bool]) -> str:
    """The plain ``body`` up to where the next item begins, if its first line answers (``answers``) and nothing
    corrects it."""
    lines = body.split("\n")
    if len(lines) == 1 or not answers(lines[0].strip()):
        return body
    item, reason, other = _heads()
    numbered = re.compile(r"\s{0,3}[(\[-]?\s?(?:\d{1,2}|[A-H])\s?[.):、](?!\d)")
    listed = bool(numbered.match(lines[0]))
    for at, line in enumerate(lines[1:60], 1):
        if listed and numbered.match(line):
            continue
        listed = listed or bool(re.match(r"\s{0,3}\(?1\s?[.)、]", line))
        if item.match(line) or (other.match(line) and not reason.match(line)):
            rest = "\n".join(lines[at : at + 8])
            return body if finds("answers", "correct").search(rest[:300]) else "\n".join(lines[:at])
    return body
