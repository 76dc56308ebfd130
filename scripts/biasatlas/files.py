"""The workflow's files: whole, in a stable order, with declared columns; the same rows give the same bytes."""

import contextlib
import csv
import itertools
import json
import os
import re
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as dataset
import pyarrow.parquet as pq
from pandas.api.types import infer_dtype

from biasatlas.columns import ITEM_KEYS, REQUEST_COLUMNS, RESPONSE_COLUMNS, SCORE_KEYS, STATUSES, TABLE_COLUMNS, Columns
from biasatlas.errors import UserError

#: First characters of a text that a spreadsheet takes for a formula, or that was quoted against that.
_FIRST = ("=", "+", "-", "@", "\t", "\r", "'")
#: Text that gets an apostrophe in front in a CSV: a formula, even after apostrophes, but not a negative number.
_FORMULA = re.compile(r"(?!-[0-9.]+\Z)'*[=+\-@\t\r]")
_QUOTED = re.compile(r"'+[=+\-@\t\r]")

#: All kinds' columns, since a responses file holds tasks of several kinds.
_ALL_RESPONSE_COLUMNS: Columns = {
    "task": "string",
    "kind": "string",
    **{name: type_ for columns in RESPONSE_COLUMNS.values() for name, type_ in columns.items()},
}

#: Rows that are converted to Arrow at a time, since a value that a frame holds once for many rows is repeated there.
_ROWS = 2**17

_TYPES = {"string": pa.string(), "float": pa.float64(), "integer": pa.int64(), "boolean": pa.bool_()}


@contextlib.contextmanager
def atomic_file(path: str | os.PathLike) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` that takes its place when the block ends, and vanishes if it fails."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        os.replace(temporary, path)
    except OSError as error:
        # Some writers do not say which file they could not write.
        error.filename = error.filename or str(path)
        raise
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_text(text: str, path: str | os.PathLike) -> None:
    """Write ``text`` as UTF-8, whole or not at all."""
    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_parquet(
    frame: pd.DataFrame, path: str | os.PathLike, columns: Columns | None = None, metadata: Mapping | None = None
) -> None:
    """Write ``frame``: the declared ``columns`` first (absent ones as null), then its own; ``metadata`` as JSON."""
    schema = _schema(frame, columns or {})
    _write_arrow(_arrow(frame, schema), schema, path, metadata or {})


def _schema(frame: pd.DataFrame, columns: Columns) -> pa.Schema:
    declared = {name: _TYPES[kind] for name, kind in columns.items()}
    inferred = pa.Schema.from_pandas(frame[[name for name in frame if name not in declared]], preserve_index=False)
    return pa.schema([*declared.items(), *((field.name, field.type) for field in inferred)])


def _arrow(frame: pd.DataFrame, schema: pa.Schema) -> Iterator[pa.Table]:
    """``frame`` with the columns of ``schema`` (absent ones null), in chunks of rows."""
    for first in range(0, max(1, len(frame)), _ROWS):
        part = frame.iloc[first : first + _ROWS].reindex(columns=schema.names)
        yield pa.Table.from_pandas(part, schema=schema, preserve_index=False)


def _write_arrow(tables: Iterable[pa.Table], schema: pa.Schema, path: str | os.PathLike, metadata: Mapping) -> None:
    schema = schema.with_metadata({"biasatlas": json.dumps(metadata, sort_keys=True)})
    with atomic_file(path) as temporary, pq.ParquetWriter(temporary, schema, compression="zstd") as writer:
        for table in tables:
            writer.write_table(table.replace_schema_metadata(schema.metadata))


def write_items(frame: pd.DataFrame, path: str | os.PathLike, columns: Columns, metadata: Mapping) -> None:
    """Write a benchmark's items with exactly the ``columns`` that it declares. Raises UserError if there are none."""
    if frame.empty:
        raise UserError(f"{path}: the data hold no item. Compare the files with the benchmark's page in docs/.")
    _check_columns(frame, {**ITEM_KEYS, **columns}, path)
    _check_unique(frame["item_id"], path)
    write_parquet(frame, path, columns, metadata)


def write_requests(frame: pd.DataFrame, path: str | os.PathLike, keys: Columns) -> None:
    """Write a requests file; ``keys`` are the benchmark's own columns beside those that every request has."""
    if frame.empty:
        raise UserError(f"{path}: no requests: the filters of the configuration leave no item. Widen them.")
    _check_columns(frame, {**REQUEST_COLUMNS, **keys}, path, needed=["request_id", "item_id", "kind", *keys])
    _check_unique(frame["request_id"], path)
    write_parquet(frame, path, {**REQUEST_COLUMNS, **keys})


def write_responses(
    parts: Mapping[str, tuple[pd.DataFrame, str, Mapping]],
    path: str | os.PathLike,
    run: str | os.PathLike | None = None,
) -> None:
    """Write a model's responses to several tasks, each (responses, kind of request, how they were made), by task.

    The column ``task`` comes first; a task's rows keep their order and have the columns of its kind, the others are
    null. The part ``run`` of a task's metadata differs from run to run (memory, what came from the store), so it goes
    to the file ``run``, if one is wanted.
    """
    tables: list[Iterator[pa.Table]] = []
    schema = pa.schema([(name, _TYPES[kind]) for name, kind in _ALL_RESPONSE_COLUMNS.items()])
    lasting: dict[str, dict] = {}
    runs: dict[str, dict] = {}
    for task, (frame, kind, metadata) in parts.items():
        _check_columns(frame, RESPONSE_COLUMNS[kind], path)
        unknown = set(frame["status"]) - set(STATUSES)
        if unknown:
            raise ValueError(f"{path}: status {sorted(unknown)} is none of {STATUSES}")
        tables.append(_arrow(frame.assign(task=task, kind=kind), schema))
        lasting[task] = {name: value for name, value in metadata.items() if name != "run"}
        runs |= {task: metadata["run"]} if "run" in metadata else {}
    if run:
        write_text(json.dumps(runs, indent=1, sort_keys=True) + "\n", run)
    _write_arrow(itertools.chain.from_iterable(tables), schema, path, lasting)


def read_responses(path: str | os.PathLike, task: str, only: pd.Series | None = None) -> pd.DataFrame:
    """A model's responses to ``task``, with the columns of its kind; with ``only``, those to requests with these ids.

    Raises UserError for a file that is damaged, or holds something else.
    """
    wanted = pc.field("task") == task
    try:
        if only is None:
            table = pq.read_table(path, filters=wanted)
        else:
            # Few of many rows are wanted: reading ahead would take most of the memory.
            wanted &= pc.field("request_id").isin(pa.array(only, pa.string()))
            table = dataset.dataset(path).to_table(filter=wanted, batch_readahead=1, use_threads=False)
        kind = table["kind"][0].as_py() if len(table) else "generation"
        return table.select(list(RESPONSE_COLUMNS[kind])).to_pandas()
    except (pa.ArrowException, KeyError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # a fault of the disk, which names the file
            raise
        raise UserError(
            f"{path}: damaged, or no file of responses. Copy responses/{{model}}/{{benchmark}}/{{protocol}}.parquet "
            "from the results of a run again."
        ) from error


def write_scores(
    frame: pd.DataFrame, path: str | os.PathLike, columns: Iterable[str], *, model: str, task: str, category: str
) -> None:
    """Write one category's scores: whose they are in front, then exactly the ``columns`` that the task declares."""
    columns = list(columns)
    _check_columns(frame, columns, path)
    keys = dict(zip(SCORE_KEYS, (model, task, category), strict=True))
    write_csv(frame[columns].assign(**keys)[[*keys, *columns]], path)


def read_scores(paths: Iterable[str | os.PathLike]) -> pd.DataFrame:
    """The rows of score files, one file after the other."""
    return _end_to_end([read_csv(path, item_id="str", **dict.fromkeys(SCORE_KEYS, "str")) for path in paths])


def write_task_scores(scores: Iterable[str | os.PathLike], path: str | os.PathLike, provenance: Mapping) -> None:
    """Write a task's score files as one, and what they were made from."""
    frame = read_scores(scores)
    mixed = [name for name in frame if infer_dtype(frame[name]).startswith("mixed")]  # numbers here, texts there
    write_parquet(frame.astype(dict.fromkeys(mixed, "str")), path, metadata=provenance)


def read_task_scores(paths: Iterable[str | os.PathLike]) -> pd.DataFrame:
    """The scores of several tasks, one after the other."""
    return _end_to_end(list(map(read_parquet, paths)))


def _end_to_end(parts: list[pd.DataFrame]) -> pd.DataFrame:
    # A frame without rows has untyped columns, which would turn the numbers of the others into objects.
    parts = [part for part in parts if len(part)] or parts[:1]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def write_table(frame: pd.DataFrame, path: str | os.PathLike, metrics: Iterable[str]) -> None:
    """Write a table: key columns, then TABLE_COLUMNS; every metric in it is one of the declared ``metrics``."""
    if tuple(frame.columns[-len(TABLE_COLUMNS) :]) != TABLE_COLUMNS:
        raise ValueError(f"{path}: columns {list(frame.columns)}; expected key columns, then {list(TABLE_COLUMNS)}")
    unknown = set(frame["metric"]) - set(metrics)
    if unknown:
        raise ValueError(f"{path}: metric {sorted(unknown)[0]!r} is not declared in the benchmark's spec")
    write_csv(frame, path)


def _check_columns(
    frame: pd.DataFrame, declared: Collection[str], path: str | os.PathLike, needed: Iterable[str] | None = None
) -> None:
    lacking = [name for name in (declared if needed is None else needed) if name not in frame]
    strange = [name for name in frame if name not in declared]
    if lacking or strange:
        fault = f"no column {lacking[0]!r}" if lacking else f"column {strange[0]!r} is not declared"
        raise ValueError(f"{path}: {fault}; declared: {', '.join(declared)}")


def _check_unique(ids: pd.Series, path: str | os.PathLike) -> None:
    repeated = ids[ids.duplicated()]
    if len(repeated):
        raise ValueError(f"{path}: {ids.name} {repeated.iloc[0]!r} occurs {(ids == repeated.iloc[0]).sum()} times")


def read_parquet(path: str | os.PathLike) -> pd.DataFrame:
    """Read a whole parquet file of the workflow's."""
    return pd.read_parquet(path)


def read_requests(path: str | os.PathLike) -> pd.DataFrame:
    """Read a whole requests file, each distinct text once: a prompt may stand before many continuations."""
    requests = read_repeated(path, ["request_id"])
    repeated = [name for name in requests if isinstance(requests[name].dtype, pd.CategoricalDtype)]
    return requests.astype({name: object if len(requests[name].cat.categories) else str for name in repeated})


def read_repeated(path: str | os.PathLike, plain: Collection[str], only: pd.Series | None = None) -> pd.DataFrame:
    """A parquet file of ours whose text repeats: each text once, as categories, except in the columns ``plain``.

    ``only`` keeps the rows in which the first column of ``plain`` has one of its values.
    """
    file = pq.ParquetFile(path)
    texts = [f.name for f in file.schema_arrow if pa.types.is_string(f.type) and f.name not in plain]
    batches = pq.ParquetFile(path, read_dictionary=texts).iter_batches(_ROWS)
    parts = (pa.Table.from_batches([batch]) for batch in batches)
    if only is not None:
        wanted = pc.field(next(iter(plain))).isin(pa.array(only, pa.string()))
        parts = (part.filter(wanted) for part in parts)
    return pa.concat_tables(parts).unify_dictionaries().to_pandas()


def read_asked(path: str | os.PathLike) -> pd.DataFrame:
    """A requests file without the texts that a model was shown: they are most of it, and no score depends on them."""
    shown = {"messages", "prefix", "continuation"}
    return pd.read_parquet(path, columns=[name for name in pq.read_schema(path).names if name not in shown])


def count_rows(path: str | os.PathLike) -> int:
    """The number of rows of a parquet file, without reading them."""
    return pq.read_metadata(path).num_rows


def read_metadata(path: str | os.PathLike) -> dict:
    """The metadata that :func:`write_parquet` stored beside the rows."""
    return json.loads(pq.read_schema(path).metadata[b"biasatlas"])


def write_csv(frame: pd.DataFrame, path: str | os.PathLike) -> None:
    """Write ``frame`` with floats in shortest round-trip form and missing values as empty cells.

    An apostrophe goes before a text that a spreadsheet would take for a formula: others write categories and replies.
    """
    quoting: Literal[0, 2] = csv.QUOTE_MINIMAL
    for name in frame.select_dtypes(exclude="number"):
        texts = frame[name].astype("str")
        if texts.str.startswith(_FIRST, na=False).any():
            frame = frame.assign(**{name: frame[name].map(_quoted)})
        if texts.str.contains("\r", regex=False, na=False).any():  # it ends a row, and the writer does not quote it
            quoting = csv.QUOTE_NONNUMERIC
    with atomic_file(path) as temporary:
        frame.to_csv(temporary, index=False, lineterminator="\n", quoting=quoting)


#: Columns of tables with names, not numbers.
_NAMES = ("model", "other_model", "category", "item")


def read_csv(path: str | os.PathLike, **types: str) -> pd.DataFrame:
    """Read a CSV of the workflow's; ``types`` gives the type of a column, only an empty cell is missing.

    What people or data sets name is text, even where all names are numbers.
    """
    frame = pd.read_csv(path, dtype=dict.fromkeys(_NAMES, "str") | types, keep_default_na=False, na_values=[""])
    for name in frame.select_dtypes("str"):
        if frame[name].str.startswith("'").any():
            frame[name] = frame[name].map(unquoted, na_action="ignore").astype("str")
    return frame


def _quoted(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value


def unquoted(text: str) -> str:
    """A cell without the apostrophe that :func:`write_csv` put before it."""
    return text[1:] if _QUOTED.match(text) else text
