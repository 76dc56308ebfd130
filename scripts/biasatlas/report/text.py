"""Text that others wrote, as people see it: nothing in it is obeyed."""

import re
from functools import lru_cache

import pandas as pd

#: Controls (but tab and new line), zero-width and bidirectional characters, separators of lines, and halves of
#: surrogate pairs.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


@lru_cache(2**16)
def visible(text: str) -> str:
    """``text`` with each character that would steer its display, or cannot be seen, as its code: ``[U+202E]``."""
    return _UNSEEN.sub(lambda found: f"[U+{ord(found[0]):04X}]", text)


def visible_column(values: pd.Series) -> pd.Series:
    """A column of text, each value through :func:`visible`; missing ones stay so."""
    return values.map(visible, na_action="ignore")


def number(value: object) -> str:
    """A number as tables show it: four significant digits; '' for what is missing."""
    if value is None or value != value:
        return ""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return visible(str(value))
    if isinstance(value, int) or (abs(value) < 1e15 and value == round(value)):
        return f"{value:.0f}"
    return f"{value:.4g}".replace("e-0", "e-")
