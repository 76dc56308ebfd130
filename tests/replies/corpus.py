"""Replies with their truth: what two careful people would say that each reply answers.

A row has ``reader`` (its parser), ``language``, ``model`` (the kind that writes so: chat, base, reasoning, api), ``form``, ``labels``
(names, or [lowest, highest, step] of a scale), ``text``, and ``truth``: a label, or "refused", "ambiguous" (several answers), or
"unparseable" (no answer). Parsers are developed on development.jsonl. The other files were sealed until they were opened:
sealed.jsonl was written before the parsers, sealed_second.jsonl by another author after them, sealed_third.jsonl by one who had not
seen them, sealed_fourth.jsonl by two, sealed_fifth.jsonl to sealed_seventh.jsonl by one each, in the proportions in which models write,
sealed_eighth.jsonl by two and those after it by three, likewise; of these, a row is kept if another person, who did not see its truth,
agreed on it. All are pinned by :data:`SEALED`, and are read only for docs/replies.md (``python bench/replies.py``).
sealed_unseen.jsonl has 177 replies with options' texts, as current models write (English, both Chinese scripts, thinking models),
labelled by one person before any was parsed; sealed_independent.jsonl has 271 more, by one who had not seen the parser; sealed_simple.jsonl
has 150 in the forms that come to mind first, by the person who made the parser smaller, before it was run on them. From sealed_third.jsonl on
the scale of decimals and grades is [lowest, highest] as text, in tenths; a truth between two of them (7.25) is the nearer one, or the larger.
"""

import json
import re
from decimal import Decimal
from pathlib import Path

from biasatlas.benchmarks.shared.parsing.named import REPLIES
from biasatlas.benchmarks.shared.parsing.options import Options

FOLDER = Path(__file__).parent
#: SHA-256 of the sealed files. In the first four, 26 truths were changed after opening, from "ambiguous" to an answer: since then, a reply that
#: takes an answer back and explicitly gives another gives that one.
SEALED = {
    "sealed_independent": "993f619a2300ab1573c9ab58998bf3624fbb03243afc35294cff172ea12c417f",
    "sealed_simple": "6dc9c5ed8614d73a6a63325c0dbbde9f7928c558e3cc658bdb6f3926f99eee95",
    "sealed_unseen": "2b03b96188af0362ff6279248e3a8754580987b69b18ffd3521feac85eb026d7",
    "sealed": "f30a4ba38589ed56e47310451fd13202906775c6e68b2a87d38f3f2a4c6b5799",
    "sealed_second": "6086a24e59512d1bece22144723990add08b88c1f6a4e78205b3202128bf4a50",
    "sealed_third": "b9f7f4e7678855a1d96b7ec014eb8152bb3f1d70cb3b12af56b625e78ab205d3",
    "sealed_fourth": "f14078701f979b865d98656667afa6efec7297c7799acfebd4342b2d828dc510",
    "sealed_fifth": "5cb8c1702efe19be6e2a2509950e432a57ff57d8ad5b8c7968b6ed5f0589d27a",
    "sealed_sixth": "c5e102f8d88040c1dc086f83bb5953b18b56550ed98588a1da54b1006ba48737",
    "sealed_seventh": "ecfffa2d91d5aa9ed241bbd9e707c4e6077615db146c97dcf67ef57d3e19c5bd",
    "sealed_eighth": "384de7ce05336187e816fcefebed341526a588e6ebdd0ccb9b4635905e42a05c",
    "sealed_ninth": "a960df63188cf690175a4705b56a90c43c0ccc5d0f8d18875dadb0c165407cc1",
    "sealed_tenth": "4ad870a06a159408c1adc4bf0f2d0bd80d549d045f6c473c68df696ab7039075",
    "sealed_eleventh": "b4e1844724ccde0363d12ed9a3c333253bf9c43b8cfe3ec6cae8028527cd81a0",
    "sealed_twelfth": "8107158268c4d5afe9bc40a42ae7af3e22941dcff1a1f0e1f7f1e625f6db866e",
    "sealed_thirteenth": "7e9fedb29cf561711661fc0e441974571ed4259bcd1fe7ad06afbb0f19335def",
    "sealed_fourteenth": "104a50ff1b7387770f05da5a25a00ba523a2bd0ef343bff7f76bb23c0fa52684",
    "sealed_fifteenth": "f1ba303feb3b981add88ad52d662ab7839d3d2e83e20b62dd414d8d9edb1251c",
    "sealed_sixteenth": "f782ed7ef4a64869526cc76da25f243211babf1fabe1d2c6f34d3fc9eb2ab583",
    "sealed_seventeenth": "8dbe228d2aca9800966589544d153ea4ca8b1240b60fbbd7091041df3de2331e",
}


#: SHA-256 of the replies of real models; REAL.md says where they come from, and under which licences.
REAL = {
    "real_bbq_content": "cb679bb732168324b39494d932102f6a769333cf819858de3095262619f51e82",
    "real_decision_absolute": "fdf0c46bca4da92e1e74dd4cdc0e9cefec88f703c85bcd9d511443ccfb22ea59",
    "real_difference_awareness": "38d1a3295ced92c18b0febe845b8b781e840463038c0470454eb46b9be915ea4",
    "real_discrim_eval": "6cee6d322c726f8b3226accbaa1aa12c3015245ef44b1c29f37ef5688fd76a87",
    "real_gaokao_zh": "371b792b8534b8d6aff20ea36ca7700251d41f554694919a1b76a4b345055311",
    "real_resume_ranking": "5e5536686282b0343f7e0d93cc15c4498205184067d5b466d817a2c1d8283501",
    "real_resume_score": "3682600ec4307d5a82a0de285bc475f8f9ce378a71b5de76b7c3ddd290d1482f",
}
#: The sets that bars are checked against.
LATEST = [*SEALED][-6:]


def real_rows(name: str) -> list[dict]:
    """The rows of a set in :data:`REAL` on whose truth both labellers agree."""
    lines = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    found = [row | {"labels": _labels(row)} for row in map(json.loads, lines) if not row.get("disputed")]
    return [row | {"asked": _asked(row)} for row in found]


def _asked(row: dict) -> Options:
    shown = row.get("options") if row["reader"] == "letter" else None
    return Options.of(row["labels"], shown or ())


def rows(half: str) -> list[dict]:
    """The rows of "development" or of a set in :data:`SEALED`, with the labels that a request would have."""
    lines = (FOLDER / f"{half}.jsonl").read_text(encoding="utf-8").splitlines()
    found = [row | {"labels": _labels(row)} for row in map(json.loads, lines)]
    return [row | {"truth": _on_scale(row), "asked": _asked(row)} for row in found]


def _on_scale(row: dict) -> str:
    """The truth of a row; a number between two labels of its scale becomes the nearest, the larger of two as near."""
    if row["reader"] not in ("decimal", "grade") or not re.fullmatch(r"[\d.]+", row["truth"]):
        return row["truth"]
    return min(row["labels"], key=lambda label: (abs(Decimal(label) - Decimal(row["truth"])), -Decimal(label)))


def _labels(row: dict) -> list[str]:
    labels = row["labels"]
    if row["reader"] in ("decimal", "grade"):
        labels = [*map(float, labels), 0.1][:3]
    if isinstance(labels[0], str):
        return labels
    low, high, step = labels
    return [f"{low + i * step:g}" for i in range(round((high - low) / step) + 1)]


def parsed(row: dict) -> str:
    """What the row's parser finds in its reply, in the form of its truth."""
    answer = REPLIES[row["reader"]](row["text"], row["asked"])
    if isinstance(answer, tuple):
        return ">".join(row["labels"][i] for i in answer)
    return row["labels"][answer] if isinstance(answer, int) else answer
