"""Two requests a question: its first turn, and its second after the model's own answer to the first."""

import json

import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.mt_bench.spec import TURNS, MTBenchOptions
from biasatlas.benchmarks.shared.prompting import CHAT

#: MT-Bench's own, by field; the others are 0.
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
