"""Figures and charts as files to take away: PDF and PNG, made when the site is written."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from biasatlas.benchmarks.shared.plots import CJK_FONT

#: Fonts that are always there: matplotlib's own, and ours for Chinese. Text in a missing font would silently be left
#: out.
_FONT = "DejaVu Sans, Noto Sans CJK TC"
_WIDTH = 640
_SCALE = 1.5


class Pictures:
    """Converts pictures; the fonts are registered once."""

    def __init__(self) -> None:
        import matplotlib
        import vl_convert

        self._convert = vl_convert
        vl_convert.register_font_directory(str(CJK_FONT.parent))
        vl_convert.register_font_directory(str(Path(matplotlib.get_data_path()) / "fonts" / "ttf"))

    def of_figure(self, svg: Path, target: Path) -> None:
        """Write ``target`` as .svg (a copy of ``svg``), .pdf and .png."""
        text = svg.read_text(encoding="utf-8")
        target.parent.mkdir(parents=True, exist_ok=True)
        Path(f"{target}.svg").write_text(text, encoding="utf-8")
        Path(f"{target}.pdf").write_bytes(self._convert.svg_to_pdf(text))
        Path(f"{target}.png").write_bytes(self._convert.svg_to_png(text, scale=_SCALE))

    def of_chart(self, spec: Mapping[str, Any], path: Path) -> None:
        """Write a chart as PDF, on white."""
        drawn = dict(spec) | {"background": "white", "config": {**spec["config"], "font": _FONT}}
        if "layer" in spec:
            drawn["width"] = _WIDTH
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self._convert.svg_to_pdf(self._convert.vegalite_to_svg(drawn, vl_version="6.4")))
