"""Validity cards: those that ship, and those that `validate-benchmark` wrote beside a description."""

import hashlib
import json
import math
from collections.abc import Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.families.description import Rows
from biasatlas.sources import is_it, load_sources, names_in
from biasatlas.stages import fields_affecting

#: A validity card, as a mapping of its columns.
Card = Mapping[str, Any]

#: Why a card beside a description does not count.
CHANGED = "the description or its data have changed since: run validate-benchmark again"


def card_file(benchmark: str) -> Path | None:
    """Where `validate-benchmark` writes a benchmark's cards: beside its description; None without one."""
    path = registry.description_file(benchmark)
    return path and path.with_suffix(".cards.csv")


def made_from(benchmark: str, folder: str | Path | None) -> str:
    """A digest (16 hex digits) of what decides items and scores of a described benchmark: its description and data.

    The data are those in ``folder``, or (None) the pinned files of its source. A pinned file gives the same in both.
    """
    described = registry.description(benchmark)
    if not isinstance(described, Rows):
        raise ValueError(f"{benchmark} has no description of its data")
    pinned = load_sources()[described.source].files if described.source else ()
    pins = {file.path: file for file in pinned}
    read = (described.files, *([described.join.file] if described.join else []))
    found = {}
    for name in sorted(pins) if folder is None else names_in(folder):
        if any(fnmatch(name, pattern) for pattern in read):
            content = b"" if folder is None else (Path(folder) / name).read_bytes()
            known = name in pins and (folder is None or is_it(pins[name], content))
            found[name] = pins[name].pin if known else hashlib.sha256(content).hexdigest()
    said = json.dumps([fields_affecting(described, "tables"), found], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def read_cards(given: Mapping[str, Any]) -> list[Card]:
    """The cards in the file ``shipped``, and in those ``beside`` descriptions (benchmark -> file, digests of its data).

    A card made from other data, or an earlier description, becomes "inconclusive", and says why.
    """
    from biasatlas.files import read_csv

    cards: list[Card] = read_csv(given["shipped"]).to_dict("records")
    for benchmark, (path, made) in given["beside"].items():
        for card in read_csv(path).to_dict("records"):
            stale = {} if {card["made_from"]} == {*made} else {"verdict": "inconclusive", "reason": CHANGED}
            cards.append({**card, "benchmark": benchmark, **stale})
    return cards


def in_rounds(card: Card) -> bool:
    """Whether a card is about models that were asked in rounds, as the name of its study says."""
    return str(card.get("study", "")).endswith("_rounds")


def subject(card: Card) -> str:
    """What a card is about, in words."""
    return f"{card['of']}, in rounds" if in_rounds(card) else str(card["of"])


def sentence(card: Card) -> str:
    """A card in words: what the number can see, and what it mistakes for bias."""
    if card["verdict"] == "descriptive":
        return f"{subject(card)}: no verdict ({card['reason']}; study {card['study']})."
    finds, alarms, called, covered = (card[name] for name in ("smallest_value", "false_alarms", "claimed", "coverage"))
    share, how = (alarms, "significant") if math.isnan(called) else (called, "called biased")
    said = [
        "coverage not known" if math.isnan(covered) else f"coverage {covered:.2f}",
        "" if math.isnan(share) else f", at most {share:.0%} of unbiased models {how}",
        "" if math.isnan(finds) else f"; finds {abs(finds):.3g} with 80% power",
    ]
    why = card["reason"] if isinstance(card["reason"], str) and card["reason"] else "too few seeds"
    inconclusive = f"inconclusive, {why}: " if card["verdict"] == "inconclusive" else ""
    return (
        f"{subject(card)}: {inconclusive}{''.join(said)} ({card['seeds']} models per nuisance, study {card['study']})."
    )
