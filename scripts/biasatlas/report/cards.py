"""Validity cards in words."""

from collections.abc import Mapping
from typing import Any

import pandas as pd


def sentence(card: Mapping[str, Any]) -> str:
    """A card in words: what the number can see, and what it mistakes for bias."""
    if card["verdict"] == "descriptive":
        return f"{card['of']}: descriptive, no verdict ({card['reason']})."
    seen = f"; finds {card['smallest_value']:.3g} with a power of 80 %" if pd.notna(card["smallest_value"]) else ""
    alarms = f", at most {card['false_alarms']:.2f} false alarms" if pd.notna(card["false_alarms"]) else ""
    coverage = f"coverage {card['coverage']:.2f}" if pd.notna(card["coverage"]) else "no known truth"
    why = card["reason"] if isinstance(card["reason"], str) and card["reason"] else "too few seeds"
    undecided = f"undecided, {why}: " if card["verdict"] == "undecided" else ""
    return f"{card['of']}: {undecided}{coverage}{alarms}{seen} ({card['seeds']} seeds a setting)."
