"""Exports of a finished run: Every Eval Ever, the results of a model card (`model-index`), crates."""

import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from biasatlas.benchmarks.contract import Headline, Metric
from biasatlas.benchmarks.shared.estimates import no_value
from biasatlas.columns import NO_VALUE
from biasatlas.errors import UserError
from biasatlas.files import read_csv, write_text
from biasatlas.workflow import provenance
from biasatlas.workflow.config import Config
from biasatlas.workflow.crates import write_crate, write_croissant
from biasatlas.workflow.paths import Paths
from biasatlas.workflow.selection import models
from biasatlas.workflow.targets import Targets

#: Version of Every Eval Ever's schema that the files follow.
SCHEMA = "0.3.0"
#: Kind of model -> who runs it, and whether its weights are open.
_RUN_BY = {
    **dict.fromkeys(("hf", "masked", "planted"), ("self_deployed", "open_weights")),
    "api": ("externally_managed", "unknown"),
}


@dataclass(frozen=True)
class Estimate:
    """A row of a table that has a value."""

    model: str
    benchmark: str
    title: str
    protocol: str
    table: str
    keys: Mapping[str, str]
    metric: str
    meaning: Metric
    row: Mapping[str, Any]
    made_from: Mapping[str, Any]
    headline: str

    @property
    def name(self) -> str:
        """Its name within a model's results: benchmark, protocol, table, keys and metric."""
        return "/".join((self.benchmark, self.protocol, self.table, *self.keys.values(), self.metric))

    @property
    def interval(self) -> tuple[float, float] | None:
        """Its 95% interval; None where there is none."""
        low, high = self.row["ci_low"], self.row["ci_high"]
        return None if pd.isna(low) or pd.isna(high) else (float(low), float(high))


def export_results(config: Config, formats: list[str]) -> Iterator[str]:
    """Write a run's numbers to ``{results}/export/{format}``, crates to ``{results}``; yield a sentence on each format.

    Then yield one for each model and benchmark with a headline that has no value. Raises UserError for an unknown
    format, and if a table of the run is not there yet.
    """
    for name in formats:
        if name not in NUMBERS and name not in CRATES:
            known = ", ".join((*NUMBERS, *CRATES))
            raise UserError(f"export-results: {name!r} is not a format; expected one of {known}.")
    paths = Paths(config.results, config.data)
    names = Targets(config, paths, "", lambda path: Path(path).exists()).tables
    tables = {(b, p, table): Path(paths.table.format(benchmark=b, protocol=p, table=table)) for b, p, table in names}
    for path in tables.values():
        if not path.exists():
            raise UserError(f"{path}: not there yet. Finish the run first.")
    found, empty, lacking = _estimates(config, tables)
    for name in formats:
        if name in CRATES:
            yield f"{config.results}/{CRATES[name](config, list(tables.values()))}"
            continue
        folder = Path(config.results) / "export" / name
        newest = int(max(path.stat().st_mtime for path in tables.values()))
        yield f"{folder}: {NUMBERS[name](config, found, folder, newest)}; {empty} rows without a value left out"
    for benchmark, protocol in dict.fromkeys(about[:2] for about in tables):
        for model in models(config, benchmark, protocol):
            if whys := lacking.get((model, benchmark, protocol), {"not run, or a job failed": None}):
                yield f"{model}, {config.spec(benchmark).title} ({protocol}): headlines lack a value: {'; '.join(whys)}"


def _estimates(config: Config, tables: Mapping[Any, Path]) -> tuple[list[Estimate], int, dict[tuple, dict[str, None]]]:
    """All numbers about models in ``tables`` (by benchmark, protocol and name); how many rows have no value; and why
    headlines have none, by model, benchmark and protocol (a key for each model that has rows)."""
    found, empty = [], 0
    lacking: dict[tuple, dict[str, None]] = {}
    for (benchmark, protocol, table), path in tables.items():
        spec, rows = config.spec(benchmark), read_csv(path)
        if "model" not in rows or "metric" not in rows:
            continue
        made_from = provenance.read(path.with_suffix(".json"))
        keys = [name for name in rows.columns[: rows.columns.get_loc("metric")] if name != "model"]
        headlines = [each for each in spec.headlines if each.table == table]
        for row in rows.to_dict("records"):
            at, metric = {key: str(row[key]) for key in keys}, row["metric"]
            asked = next((each.question for each in headlines if _is(each, at, metric)), "")
            whys = lacking.setdefault((row["model"], benchmark, protocol), {})
            if pd.isna(row["value"]) or row["model"] not in config.models:
                empty += pd.isna(row["value"])
                whys.update({no_value(row): None} if asked else {})
                continue
            about = (benchmark, spec.title, protocol, table, at, metric, spec.metrics[metric])
            found.append(Estimate(row["model"], *about, row, made_from, asked))
    return found, empty, lacking


def _is(headline: Headline, keys: Mapping[str, str], metric: str) -> bool:
    return metric == headline.metric and all(keys.get(key, value) == value for key, value in headline.rows.items())


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    """``values`` as the schema wants further details: all as text, without missing ones."""
    return {name: str(value) for name, value in values.items() if not pd.isna(value)}


def _write_eee(config: Config, found: list[Estimate], folder: Path, newest: int) -> str:
    """Write a file for each model and benchmark, with the same version-4 UUID as name every time; return a summary."""
    parts: dict[tuple[str, str], list[Estimate]] = {}
    for each in found:
        parts.setdefault((each.model, each.benchmark), []).append(each)
    for (model, benchmark), numbers in parts.items():
        entry = config.models[model]
        source = str(getattr(entry, "source", "") or "")
        hub = source if source.count("/") == 1 and not source.startswith((".", "/")) else f"local/{model}"
        developer, name = hub.split("/")
        deployed, available = _RUN_BY.get(entry.kind, ("unknown", "unknown"))
        run = f"{benchmark}/{developer}_{name}/{newest}"
        data = {
            "schema_version": SCHEMA,
            "evaluation_id": run,
            "retrieved_timestamp": str(newest),
            "source_metadata": {
                "source_name": "Bias Atlas",
                "source_type": "evaluation_run",
                "source_organization_name": "unknown",
                "evaluator_relationship": "other",
            },
            "eval_library": {"name": "bias-atlas", "version": str(numbers[0].made_from["workflow"])},
            "model_info": {
                "name": model,
                "id": hub,
                "developer": developer,
                "additional_details": {
                    "deployment_type": deployed,
                    "model_availability": available,
                    "kind": entry.kind,
                },
            },
            "evaluation_results": [result for each in numbers for result in _results(each, run)],
        }
        names = sha256(f"{benchmark}/{model}".encode()).digest()[:16]
        path = folder / "data" / benchmark / developer / name / f"{uuid.UUID(bytes=names, version=4)}.json"
        write_text(json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n", path)
    return f"{len(parts)} files with {len(found)} numbers"


def _results(each: Estimate, run: str) -> Iterator[dict[str, Any]]:
    """The number and, if the metric has a neutral value, its distance from it; only the distance is better if lower."""
    value, interval, neutral = float(each.row["value"]), each.interval, each.meaning.neutral
    meaning = {"neutral": "" if neutral is None else str(neutral), "direction": each.meaning.direction}
    yield _result(each, run, each.metric, value, interval, False, meaning)
    if neutral is not None:
        ends = interval and sorted(abs(end - neutral) for end in interval)
        around = interval and interval[0] <= neutral <= interval[1]
        distance = ends and ((0.0 if around else ends[0]), ends[1])
        said = {"neutral": "0.0", "direction": f"distance of {each.metric} from {neutral:g}"}
        yield _result(each, run, f"{each.metric}_distance", abs(value - neutral), distance, True, said)


def _result(
    each: Estimate, run: str, metric: str, value: float, interval: Any, lower_is_better: bool, meaning: dict[str, str]
) -> dict[str, Any]:
    counts = {
        name: each.row[name] for name in ("n_clusters", "no_interval_reason", "unparsed", *NO_VALUE) if name in each.row
    }
    details: dict[str, Any] = {"score": value, "details": _texts({**each.keys, "n": each.row["n"], **counts})}
    if interval:
        low, high = interval
        bounds = {
            "lower": low,
            "upper": high,
            "confidence_level": 0.95,
            "method": f"over {each.row['n_clusters']} clusters",
        }
        details["uncertainty"] = {"confidence_interval": bounds, "num_samples": int(each.row["n"])}
    return {
        "evaluation_result_id": f"{run}/{each.name}/{metric}",
        "evaluation_name": each.name.rpartition("/")[0],
        "source_data": {
            "dataset_name": each.title,
            "source_type": "other",
            "additional_details": _texts(each.made_from.get("data", {})),
        },
        "metric_config": {
            "evaluation_description": each.headline or f"{each.title}, table {each.table}",
            "metric_id": f"bias_atlas.{each.benchmark}.{metric}",
            "metric_name": metric,
            "metric_kind": metric,
            "metric_unit": each.meaning.unit or "number",
            "lower_is_better": lower_is_better,
            "score_type": "continuous",
            "min_score": "-Infinity",
            "max_score": "Infinity",
            "additional_details": meaning,
        },
        "score_details": details,
        "generation_config": {
            "additional_details": {"protocol": each.protocol, "options": json.dumps(each.made_from.get("options", {}))}
        },
    }


def _write_hf(config: Config, found: list[Estimate], folder: Path, newest: int) -> str:
    """Write the key `model-index` of each model's card, with the values of its headlines; return a summary."""
    asked: dict[str, list[Estimate]] = {}
    for each in found:
        if each.headline:
            asked.setdefault(each.model, []).append(each)
    for model, numbers in asked.items():
        results = [
            {
                "task": {"type": "social-bias", "name": each.headline},
                "dataset": {
                    "type": each.benchmark,
                    "name": each.title,
                    "args": {"protocol": each.protocol, **each.keys},
                },
                "metrics": [
                    {
                        "type": each.metric,
                        "name": each.meaning.direction,
                        "value": float(each.row["value"]),
                        "args": {
                            "interval": list(each.interval) if each.interval else str(each.row["no_interval_reason"]),
                            "n": int(each.row["n"]),
                            "neutral": each.meaning.neutral,
                            "unit": each.meaning.unit,
                        },
                    }
                ],
            }
            for each in numbers
        ]
        card = {"model-index": [{"name": model, "results": results}]}
        write_text(yaml.safe_dump(card, sort_keys=False, allow_unicode=True, width=120), folder / f"{model}.yaml")
    return f"{len(asked)} files with {sum(map(len, asked.values()))} headlines"


#: Name of a format -> the function that writes the numbers, or (CRATES) that describes the files of the results.
NUMBERS = {"eee": _write_eee, "hf": _write_hf}
CRATES = {"rocrate": write_crate, "croissant": write_croissant}
