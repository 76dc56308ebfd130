"""Framings: requests asked in other ways, and their answers in the order of the protocol's own options."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from biasatlas.benchmarks.shared.framing_design import AGAIN, FRAMED, Framing
from biasatlas.benchmarks.shared.order import first_part
from biasatlas.columns import MASSES, Columns, Factor
from biasatlas.errors import UserError

#: Columns of requests: the framing, and (JSON) for each label the place that its option has in the protocol's own
#: request; missing if options keep their places.
COLUMNS: Columns = {"framing": "string", "shown": "string"}

#: Together the framings ask about as many items as the protocol; each asks at least this many, if there are as many.
_LEAST = 200


def framed(
    requests: pd.DataFrame,
    items: pd.DataFrame,
    design: Mapping[str, Factor],
    ways: Sequence[Framing],
    share: float | None,
) -> pd.DataFrame:
    """``requests`` of one task under each of the ``ways``, for the same part of the ``items``.

    ``share`` is that part, 0 to 1; if not given, all ways together ask about as much as the protocol. Raises UserError
    if options must change places and a prompt does not show each one after its label.
    """
    items = items[items["item_id"].isin(requests["item_id"])]
    least = min(_LEAST, len(items)) / max(len(items), 1)
    asked = first_part(items, design, share if share is not None else max(1 / len(ways), least))
    part = requests[requests["item_id"].isin(asked)]
    return pd.concat([_framed(part, place, way) for place, way in enumerate(ways, 1)], ignore_index=True)


def _framed(requests: pd.DataFrame, place: int, way: Framing) -> pd.DataFrame:
    lacking = [name for name in ("messages", "prefix", "options") if name not in requests]
    rows = requests.assign(
        **dict.fromkeys(lacking),
        request_id=requests["request_id"] + f"{FRAMED}{place}",
        framing=way.name,
        shown=pd.Series(None, requests.index, object),
    )
    changes: list[_Shown | None] = [None] * len(rows)
    if way.option_order:
        options = rows["options"].fillna(rows["labels"])
        known = zip(rows["request_id"], map(json.loads, rows["labels"]), map(json.loads, options), strict=True)
        shown = [_Shown(request, labels, options, way.option_order) for request, labels, options in known]
        rows["options"] = [json.dumps(each.options, ensure_ascii=False) for each in shown]
        rows["shown"] = [json.dumps(each.order) for each in shown]
        changes = [*shown]
    given = zip(rows["messages"], rows["prefix"], changes, strict=True)
    texts = [_asked(messages, prefix, change, way) for messages, prefix, change in given]
    return rows.assign(messages=[text for text, _ in texts], prefix=[text for _, text in texts])


class _Shown:
    """The options of a request in another ``order``: for each label the place of the option that it shows."""

    def __init__(self, request: str, labels: Sequence[str], options: Sequence[str | list[str]], word: str):
        places = list(range(len(labels)))
        self.order = places[::-1] if word == "reversed" else places[1:] + places[:1]
        self.request, self.labels = request.partition(FRAMED)[0], labels
        self.before = [text if isinstance(text, str) else text[0] for text in options]
        self.options = [options[place] for place in self.order]
        self.after = [self.before[place] for place in self.order]

    def __call__(self, text: str) -> str:
        """``text`` with the options in that order behind its labels."""
        spans = []
        for label, before, after in zip(self.labels, self.before, self.after, strict=True):
            places = list(re.finditer(rf"(?<!\w)(?i:{re.escape(label)})\W{{1,3}}({re.escape(before.strip())})", text))
            if label == before or not places:
                raise UserError(
                    f"framings.option_order: the prompt of {self.request!r} does not show {before!r} behind "
                    "its letter, so that options cannot change places; leave the key out, or name other tasks."
                )
            spans.append((*places[-1].span(1), after.strip()))
        for start, end, after in sorted(spans, reverse=True):
            text = text[:start] + after + text[end:]
        return text


def _asked(
    messages: str | None, prefix: str | None, change: _Shown | None, way: Framing
) -> tuple[str | None, str | None]:
    """``messages`` and ``prefix`` of a request in another way."""
    if not isinstance(messages, str):
        text = prefix or ""
        return None, "\n\n".join(filter(None, (way.system, way.persona, change(text) if change else text)))
    chat = json.loads(messages)
    user = next(turn for turn in chat if turn["role"] == "user")
    last = [turn for turn in chat if turn["role"] == "user"][-1]
    if change:
        last["content"] = change(last["content"])
    user["content"] = "\n\n".join(filter(None, (way.persona, user["content"])))
    if way.system:
        said = chat.pop(0)["content"] if chat[0]["role"] == "system" else ""
        chat.insert(0, {"role": "system", "content": "\n\n".join(filter(None, (way.system, said)))})
    return json.dumps(chat), prefix


def by_framing(requests: pd.DataFrame, responses: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame, pd.DataFrame]]:
    """Yield each framing's name, and its requests and responses with the protocol's own ids and order of options.

    A framing whose choices were sampled several times comes twice, the second time :func:`_drawn_again`.
    """
    for name, part in requests.groupby("framing", sort=False):
        said = responses[responses["request_id"].isin(part["request_id"])].reset_index(drop=True)
        orders = said["request_id"].map(part.set_index("request_id")["shown"])
        for place in said.index[orders.notna() & said["probabilities"].notna()]:
            pairs = zip(json.loads(orders[place]), json.loads(said.at[place, "probabilities"]), strict=True)
            said.at[place, "probabilities"] = json.dumps([p for _, p in sorted(pairs)])
        own, said = (each.assign(request_id=each["request_id"].str.rpartition(FRAMED)[0]) for each in (part, said))
        own = own.drop(columns=list(COLUMNS)).reset_index(drop=True)
        yield str(name), own, said
        again = _drawn_again(said)
        if again is not None:
            yield str(name) + AGAIN, own, again


def _drawn_again(responses: pd.DataFrame) -> pd.DataFrame | None:
    """``responses`` drawn again from their shares, one draw fewer, so as to vary about them as they do about the truth.

    None where no choice was sampled more than once.
    """
    draws = responses["replies"].map(lambda replies: len(json.loads(replies)), na_action="ignore").fillna(0).astype(int)
    rng, made = np.random.default_rng(0), responses.copy()
    for place in responses.index[(draws > 1) & responses["probabilities"].notna()]:
        named = json.loads(responses.at[place, "probabilities"])
        shares = np.nan_to_num(np.array([*named, *responses.loc[place, list(MASSES)]], float))
        drawn = rng.multinomial(draws[place] - 1, shares / shares.sum()) / (draws[place] - 1)
        made.at[place, "probabilities"] = json.dumps(drawn[: len(named)].tolist())
        made.loc[place, list(MASSES)] = drawn[len(named) :]
    return made if (draws > 1).any() else None
