"""A table as other programs take it: CSV, Markdown, LaTeX (booktabs) and JSON, with caption, citation and version."""

import json
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pandas as pd

from biasatlas.columns import NO_VALUE
from biasatlas.files import write_csv, write_text
from biasatlas.report.text import number, visible, visible_column

#: A table with more rows runs over several pages in LaTeX.
_LONG = 45
_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        **{character: f"\\{character}" for character in "&%$#_{}"},
    }
)
_MARKDOWN = str.maketrans(
    {"|": r"\|", "\n": " ", "\r": " ", "<": "&lt;", ">": "&gt;", "`": r"\`", "*": r"\*", "_": r"\_"}
)


@dataclass(frozen=True)
class Said:
    """What is said of a table: its caption, the citation of its data, the version that made it, its name in links."""

    caption: str
    citation: str
    version: str
    label: str


def shortened(table: pd.DataFrame) -> pd.DataFrame:
    """``table`` without columns that are empty, and without counts of units without a value that are all 0."""
    empty = [name for name in table if table[name].isna().all() or (name in NO_VALUE and (table[name] == 0).all())]
    return table.drop(columns=empty)


def to_csv(table: pd.DataFrame, path: Path) -> None:
    """Write ``table`` as CSV, with numbers in full."""
    texts = [name for name in table if not pd.api.types.is_numeric_dtype(table[name])]
    write_csv(table.assign(**{name: visible_column(table[name]) for name in texts}), path)


def to_markdown(table: pd.DataFrame, said: Said) -> str:
    """``table`` as Markdown, numbers right-aligned."""
    lines = [f"{_flat(said.caption)}. {_flat(said.citation)} {said.version}", ""]
    lines.append(_row(map(str, table.columns)))
    lines.append(
        "|" + "|".join("---:" if pd.api.types.is_numeric_dtype(table[name]) else "---" for name in table) + "|"
    )
    lines += [_row(map(number, row)) for row in table.itertuples(index=False)]
    return "\n".join(lines) + "\n"


def to_latex(table: pd.DataFrame, said: Said) -> str:
    """``table`` as LaTeX for the package booktabs; a long one for longtable too."""
    columns = "".join("r" if pd.api.types.is_numeric_dtype(table[name]) else "l" for name in table)
    caption = (
        f"\\caption{{{_tex(said.caption)}. {_tex(said.citation)} {_tex(said.version)}}}\\label{{tab:{said.label}}}"
    )
    head = [r"\toprule", " & ".join(_tex(str(name)) for name in table) + r" \\", r"\midrule"]
    body = [" & ".join(map(_tex, map(number, row))) + r" \\" for row in table.itertuples(index=False)]
    if len(table) > _LONG:
        lines = [f"\\begin{{longtable}}{{{columns}}}", caption + r" \\", *head, r"\endhead", *body]
        lines += [r"\bottomrule", r"\end{longtable}"]
    else:
        lines = [r"\begin{table}", r"\centering", caption, f"\\begin{{tabular}}{{{columns}}}", *head, *body]
        lines += [r"\bottomrule", r"\end{tabular}", r"\end{table}"]
    return "\n".join(["% \\usepackage{booktabs,longtable}", *lines]) + "\n"


def to_json(table: pd.DataFrame, said: Said) -> str:
    """``table`` as JSON: what is said of it, and its rows; missing values are null."""
    rows = table.to_json(orient="records", double_precision=15)
    return f'{json.dumps(vars(said))[:-1]}, "rows": {rows}}}\n'


_TEXTS: Mapping[str, Callable[[pd.DataFrame, Said], str]] = {"md": to_markdown, "tex": to_latex, "json": to_json}

#: Ending -> what a button calls it.
FORMATS = {"csv": "CSV", "md": "Markdown", "tex": "LaTeX", "json": "JSON"}
#: A table with more rows is a compressed CSV alone: nobody puts it into a text, and the other formats would be most of
#: the site.
_MANY = 150


def write_exports(table: pd.DataFrame, said: Said, folder: Path) -> dict[str, str]:
    """Write ``table`` as ``{label}.csv``, ``.md``, ``.tex`` and ``.json``, or a long one as ``.csv.zip``; return
    ending -> format."""
    short, path = shortened(table), folder / f"{said.label}.csv"
    to_csv(table, path)
    if len(table) > _MANY:
        with zipfile.ZipFile(path.with_suffix(".csv.zip"), "w", zipfile.ZIP_DEFLATED) as file:
            # Without a time stamp, so that the same table gives the same file.
            file.writestr(zipfile.ZipInfo(path.name), path.read_bytes(), zipfile.ZIP_DEFLATED)
        path.unlink()
        return {"csv.zip": "CSV (zip)"}
    for ending, made in _TEXTS.items():
        write_text(made(short if ending != "json" else table, said), folder / f"{said.label}.{ending}")
    return FORMATS


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(map(_markdown, cells)) + " |"


@lru_cache(2**16)
def _markdown(text: str) -> str:
    return visible(text).translate(_MARKDOWN)


@lru_cache(2**16)
def _tex(text: str) -> str:
    return _flat(text).translate(_LATEX)


def _flat(text: str) -> str:
    return " ".join(visible(text).split())
