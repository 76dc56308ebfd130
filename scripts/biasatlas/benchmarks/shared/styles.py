"""One style per model: the same colour and marker in every figure and on every page."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

#: The colours of Okabe and Ito, which colour-blind readers can tell apart; yellow is too pale on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
#: After each round through the colours comes the next marker, so that 28 models look different.
MARKERS = ("o", "s", "^", "D")


class Style(NamedTuple):
    """How a model is drawn."""

    colour: str
    marker: str


#: Model -> how it is drawn.
Styles = Mapping[str, Style]


def styles(models: Sequence[str]) -> dict[str, Style]:
    """A style for each of the configured ``models``, by its place among them."""
    return {
        model: Style(COLOURS[place % len(COLOURS)], MARKERS[place // len(COLOURS) % len(MARKERS)])
        for place, model in enumerate(models)
    }
