"""The workflow's files: whole, in a stable order, with declared columns; the same rows give the same bytes."""

import contextlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from biasatlas.errors import UserError

#: Columns that every request has; a benchmark may add key columns of its own (a prompt type, a role).
#: ``messages`` is a JSON list of {"role", "content"}, rendered through ``template``: "tokenizer", or the name of one of
#: the literal templates in the model's entry. ``prefix`` is raw text after the rendered messages (or alone).
#: ``special_tokens``: "once" (the begin token exactly once), "tokenizer" (whatever the tokenizer adds) or "none".
#: ``boundary`` between prefix and continuation: "offsets", "prefix_length" or "separate".
#: ``labels`` is a JSON list, ``parser`` a name in :mod:`biasatlas.parsers`. Sampling settings are all explicit.
REQUEST_COLUMNS = {
    "request_id": pa.string(),
    "item_id": pa.string(),
    "kind": pa.string(),
    "messages": pa.string(),
    "prefix": pa.string(),
    "continuation": pa.string(),
    "template": pa.string(),
    "special_tokens": pa.string(),
    "boundary": pa.string(),
    "labels": pa.string(),
    "parser": pa.string(),
    "temperature": pa.float64(),
    "top_p": pa.float64(),
    "top_k": pa.int64(),
    "repetition_penalty": pa.float64(),
    "frequency_penalty": pa.float64(),
    "max_tokens": pa.int64(),
    "repeats": pa.int64(),
}

STATUSES = ("ok", "unparseable", "refused", "truncated", "not_applicable", "failed")

_RESPONSE_KEYS = {"request_id": pa.string(), "repeat": pa.int64(), "status": pa.string(), "detail": pa.string()}

#: Columns of a response, by kind of request. ``log_likelihood`` is the sum over the continuation's ``tokens`` in nats,
#: ``nll_per_token`` its negative mean; published outputs may hold only one of them (missing is null).
#: ``probabilities`` is a JSON list, one for each of the request's labels; with ``refused``, ``unparseable`` and
#: ``unresolved`` (the mass that was not expanded) it adds to 1.
RESPONSE_COLUMNS = {
    "likelihood": _RESPONSE_KEYS
    | {"log_likelihood": pa.float64(), "tokens": pa.int64(), "nll_per_token": pa.float64()},
    "choice": _RESPONSE_KEYS
    | {
        "probabilities": pa.string(),
        "refused": pa.float64(),
        "unparseable": pa.float64(),
        "unresolved": pa.float64(),
    },
    "generation": _RESPONSE_KEYS
    | {
        "text": pa.string(),
        "finish_reason": pa.string(),
        "prompt_tokens": pa.int64(),
        "completion_tokens": pa.int64(),
    },
}

#: Columns that end every table; key columns (model, target group, prompt type ...) come before them. ``n`` counts the
#: units behind ``value``; ``refused``, ``unparseable`` and ``missing`` count those that are not in it.
TABLE_COLUMNS = (
    "metric",
    "value",
    "ci_low",
    "ci_high",
    "n",
    "refused",
    "unparseable",
    "missing",
    "published",
    "difference",
)


@contextlib.contextmanager
def replacing(path: str | os.PathLike) -> Iterator[Path]:
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
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_parquet(
    frame: pd.DataFrame,
    path: str | os.PathLike,
    columns: dict[str, pa.DataType] | None = None,
    metadata: dict | None = None,
) -> None:
    """Write ``frame``: the declared ``columns`` first (absent ones as null), then its own; ``metadata`` as JSON."""
    declared = dict(columns or {})
    extra = [name for name in frame.columns if name not in declared]
    inferred = pa.Schema.from_pandas(frame[extra], preserve_index=False)
    schema = pa.schema([*declared.items(), *((field.name, field.type) for field in inferred)])
    table = pa.Table.from_pandas(frame.reindex(columns=[*declared, *extra]), schema=schema, preserve_index=False)
    table = table.replace_schema_metadata({"biasatlas": json.dumps(metadata or {}, sort_keys=True)})
    with replacing(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")


def write_requests(frame: pd.DataFrame, path: str | os.PathLike) -> None:
    """Write a requests file; a repeated ``request_id`` or an empty table is an error of the benchmark's."""
    if frame.empty:
        raise UserError(f"{path}: no requests: the filters of the configuration leave no item. Widen them.")
    repeated = frame["request_id"][frame["request_id"].duplicated()]
    if len(repeated):
        raise ValueError(
            f"{path}: request_id {repeated.iloc[0]!r} occurs {(frame['request_id'] == repeated.iloc[0]).sum()} times"
        )
    write_parquet(frame, path, REQUEST_COLUMNS)


def write_responses(frame: pd.DataFrame, path: str | os.PathLike, kind: str, metadata: dict) -> None:
    """Write a responses file of one ``kind``, in the order of its rows; ``metadata`` says how they were made.

    What it holds under ``run`` differs from run to run (memory, what came from the store), so it goes to a file beside.
    """
    unknown = set(frame["status"]) - set(STATUSES)
    if unknown:
        raise ValueError(f"{path}: status {sorted(unknown)} is none of {STATUSES}")
    lasting = {name: value for name, value in metadata.items() if name != "run"}
    if "run" in metadata:  # first, so that whoever sees the responses sees it too
        write_text(json.dumps(metadata["run"], indent=1, sort_keys=True) + "\n", Path(path).with_suffix(".run.json"))
    write_parquet(frame, path, RESPONSE_COLUMNS[kind], lasting)


def read_responses(path: str | os.PathLike) -> tuple[pd.DataFrame, dict]:
    """A responses file of a local model's and its metadata, as they went to :func:`write_responses`."""
    run = json.loads(Path(path).with_suffix(".run.json").read_text(encoding="utf-8"))
    return read_parquet(path), read_metadata(path) | {"run": run}


def read_parquet(path: str | os.PathLike) -> pd.DataFrame:
    """Read a whole parquet file of the workflow's."""
    return pd.read_parquet(path)


def read_metadata(path: str | os.PathLike) -> dict:
    """The metadata that :func:`write_parquet` stored beside the rows."""
    return json.loads(pq.read_schema(path).metadata[b"biasatlas"])


def write_csv(frame: pd.DataFrame, path: str | os.PathLike) -> None:
    """Write ``frame`` with floats in shortest round-trip form and missing values as empty cells."""
    with replacing(path) as temporary:
        frame.to_csv(temporary, index=False, lineterminator="\n")


def read_csv(path: str | os.PathLike, **types: str) -> pd.DataFrame:
    """Read a CSV of the workflow's; ``types`` gives the type of a column, only an empty cell is missing."""
    return pd.read_csv(path, dtype=types, keep_default_na=False, na_values=[""])


def read_scores(paths: Iterable[str | os.PathLike]) -> pd.DataFrame:
    """Score files end to end, with the columns ``model``, ``task`` and ``category`` in front, taken from their paths."""
    parts = []
    for path in map(Path, paths):
        model, _, _, task, name = path.parts[-5:]
        scores = read_csv(path, item_id="str")
        for column, value in (("category", Path(name).stem), ("task", task), ("model", model)):
            scores.insert(0, column, value)
        parts.append(scores)
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def read_published(name: str) -> pd.DataFrame:
    """``resources/published/{name}.csv`` as strings, so that the printed digits are known; an empty cell is missing."""
    path = Path(__file__).resolve().parents[2] / "resources" / "published" / f"{name}.csv"
    return pd.read_csv(path, dtype=str, keep_default_na=False, na_values=[""])
