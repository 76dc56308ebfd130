"""Standard descriptions of a finished run: a Workflow Run RO-Crate, and its tables in Croissant.

Both lie in the folder of the results, beside the files that they name.
"""

import datetime
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from biasatlas import ROOT
from biasatlas.benchmarks.dbb import CONSTRUCTED_FILES
from biasatlas.files import read_csv, write_text
from biasatlas.sources import load_sources
from biasatlas.workflow import provenance
from biasatlas.workflow.config import Config

_CRATE, _CROISSANT = "ro-crate-metadata.json", "croissant.json"
#: Profiles of RO-Crate that the root conforms to.
_PROFILES = (
    "https://w3id.org/ro/wfrun/process/0.5",
    "https://w3id.org/ro/wfrun/workflow/0.5",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0",
)
#: RO-Crate 1.1 has no term for a checksum; 1.2 has this one.
_CONTEXT = ["https://w3id.org/ro/crate/1.1/context", {"sha256": "http://schema.org/sha256"}]
_SNAKEMAKE = "https://w3id.org/workflowhub/workflow-ro-crate#snakemake"
_NOT_STATED = "The run states no licence of its results; those of the data are with each data set."
#: Croissant's own terms, and the context that Croissant 1.0 puts at the head of every file.
_OWN_TERMS = """citeAs column equivalentProperty extract field fileProperty fileObject fileSet format includes
isLiveDataset jsonPath key md5 parentField path recordSet references regex repeated replace samplingRate separator
source subField transform"""
_VOCABULARY: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "sc": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{name: f"cr:{name}" for name in _OWN_TERMS.split()},
}
#: Kind of a column -> its type in Croissant.
_TYPES = {"i": "sc:Integer", "u": "sc:Integer", "f": "sc:Float", "b": "sc:Boolean"}


def write_crate(config: Config, tables: Sequence[Path]) -> str:
    """Write a run's crate (tables and their origins, workflow, configuration, data, models); return a summary.

    The crate has each file once, and once what every `X.json` beside a table says of data, models and versions.
    """
    results = Path(config.results)
    origins = [provenance.read(path.with_suffix(".json")) for path in tables]
    times = sorted(path.stat().st_mtime for path in tables)
    first, last = (_when(time).isoformat(timespec="seconds") for time in (times[0], times[-1]))
    shutil.copyfile(ROOT / "Snakefile", results / "Snakefile")
    write_text(json.dumps(config.model_dump(mode="json"), indent=1) + "\n", results / "configuration.json")
    made = [_file(each, results, "#tables") for path in tables for each in (path, path.with_suffix(".json"))]
    given = _file(results / "configuration.json", results, "#configuration")
    versions = {name: version for origin in origins for name, version in origin["versions"].items()}
    software = [_thing("#" + name, "SoftwareApplication", name, version=said) for name, said in versions.items()]
    models, data = list(_models(config, origins)), list(_data(origins))
    workflow = {
        "@id": "Snakefile",
        "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow"],
        "name": "Bias Atlas",
        "encodingFormat": "text/plain",
        "version": origins[0]["workflow"],
        "programmingLanguage": _to(_SNAKEMAKE),
        "license": "https://spdx.org/licenses/MIT",
        "input": _to("#configuration"),
        "output": _to("#tables"),
        "softwareRequirements": _all(software),
    }
    action = {
        "@id": "#run",
        "@type": "CreateAction",
        "name": f"Run of Bias Atlas to {results.name}",
        "startTime": first,
        "endTime": last,
        "description": "It read data and models, and wrote the tables.",
        "actionStatus": "http://schema.org/CompletedActionStatus",
        "instrument": _to("Snakefile"),
        "object": _all([given, *data, *models]),
        "result": _all(made),
    }
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": f"Results of Bias Atlas: {results.name}",
        "description": _about(config),
        "datePublished": last,
        "license": _to("#licence"),
        "conformsTo": list(map(_to, _PROFILES)),
        "mainEntity": _to("Snakefile"),
        "mentions": _to("#run"),
        "hasPart": _all([workflow, given, *made]),
    }
    keeps_to = [_to("https://w3id.org/ro/crate/1.1"), _to(_PROFILES[-1])]
    graph = [_thing(_CRATE, "CreativeWork", "metadata", about=_to("./"), conformsTo=keeps_to), root, workflow, action]
    graph += [given, *made, *data, *models, *software, *map(_parameter, ("#configuration", "#tables"))]
    graph += [
        _thing("#licence", "CreativeWork", "no licence stated", description=_NOT_STATED),
        _thing(_SNAKEMAKE, "ComputerLanguage", "Snakemake", url=_to("https://snakemake.readthedocs.io")),
        *(_thing(name, "CreativeWork", name.split("/")[-2], version=name.rpartition("/")[2]) for name in _PROFILES),
    ]
    _write({"@context": _CONTEXT, "@graph": graph}, results / _CRATE)
    return f"{_CRATE}: {len(tables)} tables, {len(data)} data files, {len(models)} models"


def _about(config: Config) -> str:
    return f"Social bias in language models: {', '.join(config.models)} on {', '.join(config.benchmarks)}."


def _when(time: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(time, datetime.UTC)


def _to(name: str) -> dict[str, str]:
    return {"@id": name}


def _thing(name: str, kind: str, title: str, **said: Any) -> dict[str, Any]:
    return {"@id": name, "@type": kind, "name": title, **said}


def _all(things: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    return [_to(each["@id"]) for each in things]


def _parameter(name: str) -> dict[str, Any]:
    profile = _to("https://bioschemas.org/profiles/FormalParameter/1.0-RELEASE")
    return _thing(name, "FormalParameter", name[1:], additionalType="File", conformsTo=profile)


def _file(path: Path, results: Path, example_of: str) -> dict[str, Any]:
    name, size = path.relative_to(results).as_posix(), str(path.stat().st_size)
    form = "text/csv" if path.suffix == ".csv" else "application/json"
    said = {"encodingFormat": form, "contentSize": size, "sha256": provenance.sha256(path)}
    return _thing(name, "File", name, **said, exampleOfWork=_to(example_of))


def _data(origins: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Every raw file that a table was made from: its checksum and, if known, its source's licence and address."""
    known = {(file.path, file.sha256): source for source in load_sources().values() for file in source.files}
    seen = {(name, digest): None for origin in origins for name, digest in origin.get("data", {}).items()}
    for name, digest in seen:
        source = known.get((name, digest))
        said = {"license": source.licence, "url": source.url.replace("{path}", name)} if source else {}
        yield _thing(f"#data-{digest[:16]}-{name}", "CreativeWork", name, sha256=digest, **said)


def _models(config: Config, origins: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Every model: its entry, and the weights, precision and engine that its answers record."""
    answered: dict[str, Mapping[str, Any]] = {}
    for origin in origins:
        for part in origin.get("scores", {}).values():
            answered.setdefault(part["name"], part["model"])
    for name, entry in config.models.items():
        said = {**entry.model_dump(mode="json"), **answered.get(name, {})}
        yield _thing(f"#model-{name}", "CreativeWork", name, description=json.dumps(said, sort_keys=True))


def write_croissant(config: Config, tables: Sequence[Path]) -> str:
    """Write a run's tables and constructed questions as a data set (checksums, typed columns); return a summary."""
    results = Path(config.results)
    made = [results / "construction" / "dataset" / name for name in CONSTRUCTED_FILES]
    files = [*tables, *(path for path in made if path.is_file())]
    objects, records = [], []
    for path in files:
        name = path.relative_to(results).as_posix()
        frame = read_csv(path)
        said = {"contentUrl": name, "encodingFormat": "text/csv", "sha256": provenance.sha256(path)}
        objects.append(_thing(name, "cr:FileObject", name, **said))
        label = name.removesuffix(".csv")
        fields = [_field(label, name, column, frame[column]) for column in frame]
        records.append({**_thing(label, "cr:RecordSet", label), "field": fields})
    newest = _when(max(path.stat().st_mtime for path in files))
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    data = {
        "@context": _VOCABULARY,
        "@type": "sc:Dataset",
        "name": f"bias-atlas-{results.name}",
        "description": _about(config),
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "license": _NOT_STATED,
        "creator": {"@type": "sc:Organization", "name": citation["authors"][0]["name"]},
        "datePublished": newest.date().isoformat(),
        "version": "1.0.0",
        "citeAs": citation["title"],
        "url": _CROISSANT,
        "distribution": objects,
        "recordSet": records,
    }
    _write(data, results / _CROISSANT)
    return f"{_CROISSANT}: {len(files)} files with {sum(len(each['field']) for each in records)} columns"


def _field(record: str, file: str, column: str, values: pd.Series) -> dict[str, Any]:
    source = {"fileObject": _to(file), "extract": {"column": column}}
    kind = _TYPES.get(values.dtype.kind, "sc:Text")
    return {**_thing(f"{record}/{column}", "cr:Field", column), "dataType": kind, "source": source}


def _write(data: Mapping[str, Any], path: Path) -> None:
    write_text(json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n", path)
