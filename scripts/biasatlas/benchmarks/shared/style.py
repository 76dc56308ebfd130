"""How every figure looks, and how it is saved: the same tables give the same bytes."""

import contextlib
from collections.abc import Iterator

import matplotlib as mpl
from matplotlib import font_manager
from matplotlib.figure import Figure

from biasatlas import ROOT
from biasatlas.files import atomic_file

#: A subset of Noto Sans CJK TC (SIL Open Font License): the common characters of Traditional and Simplified Chinese.
CJK_FONT = ROOT / "resources" / "fonts" / "NotoSansCJKtc-Regular-subset.otf"

_STYLE = {
    # The fallback works through `font.family` only; through `font.sans-serif` Chinese is drawn as boxes.
    "font.family": ["DejaVu Sans", "Noto Sans CJK TC"],
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "figure.constrained_layout.use": True,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "biasatlas",
}


@contextlib.contextmanager
def style() -> Iterator[None]:
    """Draw figures in the project's style, Chinese labels included, inside the block."""
    font_manager.fontManager.addfont(CJK_FONT)
    with mpl.rc_context(_STYLE):
        yield


def save(figure: Figure, path: str) -> None:
    """Write ``figure`` as SVG, whole or not at all, with text as text and no date."""
    with atomic_file(path) as temporary:
        figure.savefig(temporary, format="svg", metadata={"Date": None})
