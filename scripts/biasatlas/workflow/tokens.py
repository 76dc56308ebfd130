"""Log-likelihoods token by token, of the items that count most in a finished run, for the report's explorer."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pandas as pd

from biasatlas.benchmarks.contract import Spec
from biasatlas.files import read_parquet, write_parquet
from biasatlas.models.interface import ModelContext
from biasatlas.models.kinds import KINDS, open_model
from biasatlas.report.explorer import joined, shown_of, value_of
from biasatlas.workflow import selection
from biasatlas.workflow.config import Config
from biasatlas.workflow.paths import WEIGHT_FILES, Paths

if TYPE_CHECKING:
    from biasatlas.models.local.answer import CausalModel

#: Kinds of models that are asked in process, from left to right.
_KINDS = ("hf", "planted")


def export_token_logprobs(config: Config, count: int) -> Iterator[str]:
    """Write {results}/tokens/{model}/{benchmark}/{protocol}.parquet for each causal model in process; the paths.

    A row is a request (``task``, ``request_id``) with ``token_log_likelihoods``, a JSON list of [token, nats]; of each
    task of likelihoods the requests of the ``count`` items that count most for the model. Models without scores are
    left out.
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
