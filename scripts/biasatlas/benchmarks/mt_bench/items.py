"""Questions of two turns in MT-Bench's own format, and the two requests that each becomes."""

import json
from pathlib import Path

import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.mt_bench.spec import FIELDS, ITEM_COLUMNS, TURNS, MTBenchOptions
from biasatlas.benchmarks.shared.prompting import CHAT
from biasatlas.errors import UserError
from biasatlas.userfiles import listed, read_json_lines, shown

#: The user's file, or that of the sample.
_NAMES = ("questions", "question.jsonl")
#: MT-Bench's prompts for a judge of one answer -> a slot that only that kind has.
_LAST_SLOT = {
    "single-v1": "{answer}",
    "single-math-v1": "{ref_answer_1}",
    "single-v1-multi-turn": "{answer_2}",
    "single-math-v1-multi-turn": "{ref_answer_2}",
}


def read_items(step: Step) -> pd.DataFrame:
    """A row per question of a JSON Lines file with ``question_id``, ``category``, ``turns`` (two texts) and, for some,
    ``reference`` (an answer to each turn): MT-Bench's ``question.jsonl``, in any translation.

    Raises UserError where no file is given, and, naming file, line and value, for any other content.
    """
    path = next((step.files[name] for name in _NAMES if name in step.files), None)
    if path is None:
        raise UserError(
            f"MT-Bench has no published questions in Traditional Chinese; found {listed(step.files)}. Set "
            "`benchmarks.mt_bench.files.questions` to a file of yours (docs/mt_bench.md says what is in it), or "
            "`data: sample`."
        )
    rows: dict[str, dict[str, str | None]] = {}
    for where, question in read_json_lines(path):
        item_id = str(question.get("question_id", ""))
        turns, reference = question.get("turns"), question.get("reference")
        if not item_id or item_id in rows:
            raise UserError(f"{where}: question_id is {shown(question.get('question_id'))}. Expected one of its own.")
        if question.get("category") not in FIELDS:
            raise UserError(
                f"{where}: category is {shown(question.get('category'))}. Expected one of {listed(FIELDS)}."
            )
        if not _two_texts(turns):
            raise UserError(f"{where}: turns is {shown(turns)}. Expected a list of two texts.")
        if reference and not _two_texts(reference):
            raise UserError(f"{where}: reference is {shown(reference)}. Expected a list of two texts, or none.")
        rows[item_id] = {
            "item_id": item_id,
            "category": question["category"],
            "turn_1": turns[0],
            "turn_2": turns[1],
            "references": json.dumps(reference, ensure_ascii=False) if reference else None,
        }
    return pd.DataFrame(list(rows.values()), columns=list(ITEM_COLUMNS))


def _two_texts(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(isinstance(text, str) and text.strip() for text in value)


def read_judge_prompts(path: str | Path) -> dict[str, tuple[str, str]]:
    """MT-Bench's prompts for a judge of one answer, by name: system message and template, with slots in braces.

    Raises UserError for another file, and for a template without its slots.
    """
    texts = {
        str(row.get("name")): (str(row.get("system_prompt")), str(row.get("prompt_template")))
        for _, row in read_json_lines(path)
    }
    for name, slot in _LAST_SLOT.items():
        if slot not in texts.get(name, ("", ""))[1]:
            raise UserError(
                f"{path}: no prompt {name!r} with {slot} in it. Take MT-Bench's judge_prompts.jsonl as it is."
            )
    return texts


CHECKS = {"judge_prompts": read_judge_prompts}


#: MT-Bench's own temperatures by field; those of other fields are 0.
_TEMPERATURES = {"writing": 0.7, "roleplay": 0.7, "stem": 0.1, "humanities": 0.1}


def build_requests(step: Step[MTBenchOptions]) -> pd.DataFrame:
    """A row per question and ``turn``; the second has an empty answer to the first, which its ``reply_to`` fills."""
    rows = []
    for item in step.items[step.items["category"].isin(step.categories)].to_dict("records"):
        temperature = _TEMPERATURES.get(item["category"], 0.0) if step.options.temperature == "by_field" else 0.0
        for turn in TURNS:
            rows.append(
                {
                    "request_id": f"{item['item_id']}/{turn}",
                    "item_id": item["item_id"],
                    "kind": "generation",
                    "messages": json.dumps(_messages(item, turn), ensure_ascii=False),
                    **CHAT,
                    "temperature": temperature,
                    "max_tokens": step.options.max_tokens,
                    "repeats": 1,
                    "turn": turn,
                    "reply_to": f"{item['item_id']}/1" if turn == 2 else None,
                }
            )
    return pd.DataFrame(rows)


def _messages(item: dict[str, str], turn: int) -> list[dict[str, str]]:
    first = {"role": "user", "content": item["turn_1"]}
    if turn == 1:
        return [first]
    return [first, {"role": "assistant", "content": ""}, {"role": "user", "content": item["turn_2"]}]
