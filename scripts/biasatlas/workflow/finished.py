"""Work on a finished run: compare it with another, parse its replies anew, export likelihoods token by token."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pandas as pd

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.contract import Spec
from biasatlas.benchmarks.shared import replies as kit
from biasatlas.benchmarks.shared.parsing.named import Parser
from biasatlas.benchmarks.shared.parsing.options import asked_options
from biasatlas.errors import UserError
from biasatlas.files import atomic_file, read_asked, read_csv, read_parquet, read_responses, write_csv, write_parquet
from biasatlas.models.interface import ModelContext
from biasatlas.models.kinds import KINDS, open_model
from biasatlas.report.explorer import joined, shown_of, value_of
from biasatlas.validation import nearest
from biasatlas.workflow import provenance, selection
from biasatlas.workflow.config import Config
from biasatlas.workflow.paths import WEIGHT_FILES, Paths

if TYPE_CHECKING:
    from biasatlas.models.local.answer import CausalModel


def compare(left: Path, right: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What differs between the results folders ``left`` and ``right``.

    The first frame has a row for each input that differs (``input``, ``left``, ``right``, and in how many ``tables``);
    a run without it has a missing value. The second has a row for each number that moved or that only one run has
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
    try:
        return dict(_flat(provenance.read(path))) if path.exists() else {}
    except ValueError:
        raise _damaged(path) from None


def _damaged(path: Path) -> UserError:
    return UserError(f"{path}: damaged, or of no run. Remove it, and run again.")


def _flat(value: object, name: str = "") -> Iterator[tuple[str, object]]:
    """Every number and text in ``value`` by its dotted name; a list, and an empty mapping, as JSON."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _flat(inner, f"{name}.{key}" if name else key)
    else:
        yield name, json.dumps(value) if isinstance(value, list | Mapping) else value


#: Columns before the value that say what came of a row, not which row it is.
_SAID = ("verdict", "why", "item")


def _values(table: Path | None) -> pd.Series:
    """The column ``value`` of a table by (row, metric), where a row is its key columns in words."""
    if table is None:
        return pd.Series(dtype=float, index=pd.MultiIndex.from_arrays([[], []], names=["row", "metric"]))
    try:
        frame = read_csv(table)
        values = pd.to_numeric(frame["value"])
    except (ValueError, KeyError, IsADirectoryError):
        raise _damaged(table) from None
    keys = frame.loc[:, :"value"].columns.difference(["metric", "value", *_SAID], sort=False)
    rows = [", ".join(str(key) for key in row if not pd.isna(key)) for row in frame[keys].itertuples(index=False)]
    names = pd.DataFrame({"row": rows, "metric": frame.get("metric", "")})
    # Rows that share their keys are distinguished by their order.
    repeat = names.groupby(["row", "metric"]).cumcount()
    names["row"] = [f"{row} #{count + 1}" if count else row for row, count in zip(rows, repeat, strict=True)]
    return values.set_axis(pd.MultiIndex.from_frame(names))


def _moved(table: str, left: pd.Series, right: pd.Series) -> pd.DataFrame:
    both = pd.concat([left, right], axis=1, keys=["left", "right"], sort=False)
    same = (both["left"] == both["right"]) | both.isna().all(axis=1)
    moved = both[~same].reset_index()
    moved["difference"] = moved["right"] - moved["left"]
    moved.insert(0, "table", table)
    return moved


_KEYS = ["model", "benchmark", "protocol", "task"]


def _answered(results: Path) -> Iterator[tuple[dict[str, str], pd.DataFrame, pd.DataFrame]]:
    """Keys, requests and responses of every task below ``results``; a judge's have the task ``{task} judge``."""
    for path in sorted(results.glob("responses/*/*/*.parquet")):
        keys = dict(zip(_KEYS[:3], (*path.relative_to(results / "responses").parts[:2], path.stem), strict=True))
        try:
            tasks = read_parquet(path)["task"].unique()
        except (ValueError, KeyError):  # pyarrow's errors are ValueErrors
            raise _damaged(path) from None
        for task in tasks:
            asked = results / "requests" / keys["benchmark"] / keys["protocol"] / f"{task}.parquet"
            yield keys | {"task": task}, read_asked(asked), read_responses(path, task)
    for path in sorted(results.glob("judge/responses/*/*/*/*.parquet")):
        parts = path.relative_to(results / "judge" / "responses").with_suffix("").parts
        requests = read_asked(results.joinpath("judge", "requests", *parts).with_suffix(".parquet"))
        yield dict(zip(_KEYS, (*parts[:3], f"{parts[3]} judge"), strict=True)), requests, read_responses(path, parts[3])


def _all_parsers() -> dict[str, Parser]:
    """The parsers of all benchmarks: a run may give a benchmark another name."""
    return {
        name: parser for benchmark in registry.benchmark_names() for name, parser in registry.parsers(benchmark).items()
    }


def reparse_replies(results: Path, parser: str, examples: int) -> str:
    """Parse the replies of ``results`` with ``parser``: return what changes as text, and write replies/changes.csv."""
    parsers = _all_parsers()
    if parser not in parsers:
        raise UserError(f"parser {parser!r}: there is no such parser{nearest(parser, parsers)}")
    changes, shown = [], []
    for keys, requests, responses in _answered(results):
        kind, before = kit.answers(requests, responses, parsers)
        if kind != "replies" or not before["parser"].notna().any():
            continue
        after = kit.answers(requests, responses, parsers, parser)[1]
        was, now = (part["found"].fillna(part["outcome"]) for part in (before, after))
        changed = before.assign(was=was, now=now)[was != now]
        shown.append(f"{' '.join(keys.values())}: {len(changed)} of {len(before)} replies are parsed differently")
        pairs = changed.groupby(["was", "now"])["text"]
        shown += [f"  {a} -> {b}: {len(texts)}, as {texts.iloc[0][:80]!r}" for (a, b), texts in pairs][:examples]
        columns = changed[["request_id", "repeat", "parser", "was", "now", "text"]]
        changes.append(pd.DataFrame([keys], index=columns.index).join(columns))
    if not shown:
        raise UserError(f"{results}: no sampled replies. Name the results folder of a run whose models wrote answers.")
    write_csv(pd.concat(changes, ignore_index=True), results / "replies" / "changes.csv")
    return "\n".join(shown)


def unparsed(results: Path, most: int) -> str:
    """The replies of ``results`` that give no answer, as text: by form, with the ``most`` frequent ones of each.

    All of them are written to replies/unparsed.jsonl, one a line, as rows of tests/replies with a ``truth`` to fill in.
    """
    parsers = _all_parsers()
    shown, rows, sampled = [], [], 0
    for keys, requests, responses in _answered(results):
        kind, found = kit.answers(requests, responses, parsers)
        if kind != "replies":
            continue
        sampled += len(found)
        rest = kit.unparsed(found)
        if len(rest):
            shown.append(f"{' '.join(keys.values())}: {len(rest)} of {len(found)}\n\n{kit.examples(rest, most)}")
        asked = found.set_index(["request_id", "repeat"])[["parser", "labels", "options"]]
        for row in rest.itertuples():
            parser, labels, given = asked.loc[(row.request_id, row.repeat)]
            texts = [option.text for option in asked_options(json.dumps(labels or ["answered"]), given)]
            known = {"reader": parser if isinstance(parser, str) else "refusal", "labels": labels or ["answered"]}
            known |= {"options": texts if any(texts) else None, "form": row.form, "found": row.outcome}
            rows.append(keys | known | {"truth": "", "text": row.text})
    if not sampled:
        raise UserError(f"{results}: no sampled replies. Name the results folder of a run whose models wrote answers.")
    if rows:
        path = results / "replies" / "unparsed.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as temporary:
            lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            Path(temporary).write_text("".join(lines), encoding="utf-8")
    return "\n\n\n".join(shown) or f"{results}: every reply was parsed."


#: Kinds of causal models that run in process.
_KINDS = ("hf", "planted")


def export_token_logprobs(config: Config, count: int) -> Iterator[str]:
    """Write {results}/tokens/{model}/{benchmark}/{protocol}.parquet for each causal model in process; yield the paths.

    A row is a request (``task``, ``request_id``) with ``token_log_likelihoods``, a JSON list of [token, nats]. Each
    likelihood task has the requests of the items behind the model's ``count`` scores farthest from neutral. Models
    without scores are left out.
    """
    paths = Paths(config.results, config.data)
    for name, protocol in selection.runs(config):
        spec = config.spec(name)
        for model in selection.models(config, name, protocol):
            keys = {"model": model, "benchmark": name, "protocol": protocol}
            tasks = [t for t in selection.tasks(config, name, model) if spec.tasks[t].kind == "likelihood"]
            wanted = {task: _wanted(config, paths, spec, task, keys, count) for task in tasks}
            wanted = {task: requests for task, requests in wanted.items() if len(requests)}
            if config.models[model].kind in _KINDS and wanted:
                loaded = _load_model(config, paths, model, spec.language)
                parts = [
                    pd.DataFrame(
                        {
                            "task": task,
                            "request_id": requests["request_id"],
                            "token_log_likelihoods": [json.dumps(tokens) for tokens in loaded.tokens(requests)],
                        }
                    )
                    for task, requests in wanted.items()
                ]
                path = paths.tokens.format(**keys)
                write_parquet(pd.concat(parts, ignore_index=True), path)
                yield path


def _wanted(config: Config, paths: Paths, spec: Spec, task: str, keys: dict[str, str], count: int) -> pd.DataFrame:
    """The requests of the items behind the ``count`` scores farthest from neutral; none where nothing is scored."""
    path = paths.task_scores.format(**keys, task=task)
    if not Path(path).exists() or (scores := read_parquet(path)).empty:
        return pd.DataFrame()
    shown = shown_of(spec, task)
    far = pd.Series(abs(value_of(scores, shown) - shown.neutral)).nlargest(count).index
    items = read_parquet(paths.items.format(**keys))
    found = pd.Series(False, index=items.index)
    for part in shown.parts:
        found |= joined(items, list(part)).isin(set(joined(scores.loc[far], list(part.values()))))
    requests = read_parquet(paths.requests.format(**keys, task=task))
    return requests[requests["item_id"].isin(items["item_id"][found])].reset_index(drop=True)


def _load_model(config: Config, paths: Paths, model: str, language: str) -> "CausalModel":
    """A causal model in process, from files that the run prepared."""
    entry = config.models[model]
    made = {
        "weights": [paths.weights.format(model=model, language=language, file=file) for file in WEIGHT_FILES],
        "fetched": [paths.fetched.format(model=model)],
    }.get(KINDS[entry.kind].ready(entry), [])
    return cast("CausalModel", open_model(ModelContext(model, entry, tuple(map(Path, made)))))
