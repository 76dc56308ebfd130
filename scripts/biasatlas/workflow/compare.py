"""Two runs side by side: which inputs differ, and which numbers moved."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd

from biasatlas.workflow import provenance
from biasatlas.errors import UserError
from biasatlas.files import TABLE_COLUMNS, read_csv


def compare(left: Path, right: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What differs between the results folders ``left`` and ``right``.

    The first frame has a row for each input that differs (``input``, ``left``, ``right``, ``tables``: in how many); a
    missing one is NaN. The second has a row for each number that moved or that only one run has (``table``, ``row``,
    ``metric``, ``left``, ``right``, ``difference``). Raises UserError if a folder has no tables.
    """
    tables = [_tables(folder) for folder in (left, right)]
    inputs: dict[tuple, int] = {}
    numbers = []
    for name in sorted(tables[0] | tables[1]):
        paths = [found.get(name) for found in tables]
        sides = [_inputs(path) for path in paths]
        for key in sorted(sides[0] | sides[1]):
            values = (sides[0].get(key), sides[1].get(key))
            if all(paths) and values[0] != values[1]:
                inputs[key, *values] = inputs.get((key, *values), 0) + 1
        numbers.append(_moved(name, *map(_values, paths)))
    return (
        pd.DataFrame([(*key, count) for key, count in inputs.items()], columns=["input", "left", "right", "tables"]),
        pd.concat(numbers, ignore_index=True),
    )


def _tables(results: Path) -> dict[str, Path]:
    """Path below ``tables`` -> path of each table."""
    folder = results / "tables"
    tables = {str(path.relative_to(folder)): path for path in folder.rglob("*.csv")}
    if not tables:
        raise UserError(
            f"{folder}: no tables there. Name two folders of results, as `results` in a configuration does."
        )
    return tables


def _inputs(table: Path | None) -> dict[str, object]:
    """The flattened provenance of a table, {"data.train.csv": "ab12..."}; empty where there is none."""
    path = table and table.with_suffix(".json")
    return dict(_flat(provenance.read(path))) if path and path.exists() else {}


def _flat(value: object, key: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from _flat(inner, f"{key}.{name}" if key else name)
    else:
        yield key, value


def _values(table: Path | None) -> pd.Series:
    """The values of a table by (row, metric), where a row is its key columns in words."""
    if table is None:
        return pd.Series(dtype=float, index=pd.MultiIndex.from_arrays([[], []], names=["row", "metric"]))
    frame = read_csv(table)
    keys = frame[[column for column in frame.columns if column not in TABLE_COLUMNS]]
    rows = [", ".join(str(cell) for cell in cells if not pd.isna(cell)) for cells in keys.itertuples(index=False)]
    names = pd.DataFrame({"row": rows, "metric": frame["metric"]})
    # Rows that share their keys are told apart by their order.
    repeat = names.groupby(["row", "metric"]).cumcount()
    names["row"] = [f"{row} #{count + 1}" if count else row for row, count in zip(rows, repeat, strict=True)]
    return frame["value"].set_axis(pd.MultiIndex.from_frame(names))


def _moved(name: str, left: pd.Series, right: pd.Series) -> pd.DataFrame:
    both = pd.concat([left, right], axis=1, keys=["left", "right"], sort=False)
    same = (both["left"] == both["right"]) | both.isna().all(axis=1)
    moved = both[~same].reset_index()
    moved["difference"] = moved["right"] - moved["left"]
    moved.insert(0, "table", name.removesuffix(".csv"))
    return moved
