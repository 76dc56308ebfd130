"""Two runs compared: which inputs differ, and which numbers moved."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd

from biasatlas.errors import UserError
from biasatlas.files import read_csv
from biasatlas.workflow import provenance


def compare(left: Path, right: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What differs between the results folders ``left`` and ``right``.

    The first frame has a row for each input that differs (``input``, ``left``, ``right``, ``tables``: in how many); one
    that a run does not have is missing. The second has a row for each number that moved or that only one run has
    (``table``, ``row``, ``metric``, ``left``, ``right``, ``difference``). Raises UserError if a folder has no tables.
    """
    tables = _tables(left), _tables(right)
    inputs: Counter[tuple] = Counter()
    numbers = []
    for name in sorted(tables[0] | tables[1]):
        paths = tables[0].get(name), tables[1].get(name)
        if paths[0] and paths[1]:
            of_left, of_right = _inputs(paths[0]), _inputs(paths[1])
            each = ((key, of_left.get(key), of_right.get(key)) for key in sorted({*of_left, *of_right}))
            inputs.update((key, one, other) for key, one, other in each if one != other)
        numbers.append(_moved(name, _values(paths[0]), _values(paths[1])))
    differing = [(*difference, count) for difference, count in inputs.items()]
    return (
        pd.DataFrame(differing, columns=["input", "left", "right", "tables"]),
        pd.concat(numbers, ignore_index=True),
    )


def _tables(results: Path) -> dict[str, Path]:
    """Path below ``tables`` without its suffix -> path of each table."""
    folder = results / "tables"
    tables = {path.relative_to(folder).with_suffix("").as_posix(): path for path in folder.rglob("*.csv")}
    if not tables:
        raise UserError(
            f"{folder}: no tables there. Name two folders of results, as `results` in a configuration does."
        )
    return tables


def _inputs(table: Path) -> dict[str, object]:
    """The flattened provenance of a table, {"data.train.csv": "ab12..."}; empty where there is none."""
    path = table.with_suffix(".json")
    return dict(_flat(provenance.read(path))) if path.exists() else {}


def _flat(value: object, name: str = "") -> Iterator[tuple[str, object]]:
    """Every number and text in ``value`` by its dotted name; a list, and an empty mapping, as JSON."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _flat(inner, f"{name}.{key}" if name else key)
    else:
        yield name, json.dumps(value) if isinstance(value, list | Mapping) else value


def _values(table: Path | None) -> pd.Series:
    """The column ``value`` of a table by (row, metric), where a row is its key columns in words."""
    if table is None:
        return pd.Series(dtype=float, index=pd.MultiIndex.from_arrays([[], []], names=["row", "metric"]))
    frame = read_csv(table)
    keys = frame.loc[:, :"value"].columns.difference(["metric", "value"], sort=False)
    rows = [", ".join(str(key) for key in row if not pd.isna(key)) for row in frame[keys].itertuples(index=False)]
    names = pd.DataFrame({"row": rows, "metric": frame.get("metric", "")})
    # Rows that share their keys are distinguished by their order.
    repeat = names.groupby(["row", "metric"]).cumcount()
    names["row"] = [f"{row} #{count + 1}" if count else row for row, count in zip(rows, repeat, strict=True)]
    return frame["value"].set_axis(pd.MultiIndex.from_frame(names))


def _moved(table: str, left: pd.Series, right: pd.Series) -> pd.DataFrame:
    both = pd.concat([left, right], axis=1, keys=["left", "right"], sort=False)
    same = (both["left"] == both["right"]) | both.isna().all(axis=1)
    moved = both[~same].reset_index()
    moved["difference"] = moved["right"] - moved["left"]
    moved.insert(0, "table", table)
    return moved
