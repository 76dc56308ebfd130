"""Bad configurations, protocols and data, a row each in bad_inputs/: one message in words, and nothing half-written."""

import csv
import io
import json
import runpy
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from openpyxl import load_workbook
from parser_cases import PARSERS, Files

from biasatlas import ROOT
from biasatlas.benchmarks import registry
from biasatlas.errors import UserError
from biasatlas.validation import check_files
from biasatlas.workflow import paths
from biasatlas.workflow.config import load_config
from biasatlas.workflow.preflight import check_preflight


def rows_of(name: str):
    """The rows of a table of bad inputs, as parameters with names."""
    rows = yaml.safe_load((Path(__file__).parent / "bad_inputs" / f"{name}.yaml").read_text(encoding="utf-8"))
    return [
        pytest.param(row, id=" ".join(str(row[key]) for key in ("parser", "benchmark", "name") if key in row))
        for row in rows
    ]


def assert_says(message: str, row: Mapping) -> None:
    lines = message.splitlines()
    assert len(lines) == row.get("lines", 1), message
    assert all(len(line) < 900 for line in lines), message
    for part in row["says"]:
        assert part in message
    for part in row.get("hides", ()):
        assert part not in message
    for part in ("Traceback", "Input should be", "valid dictionary", "<class", "pydantic"):
        assert part not in message


def content(row: Mapping) -> bytes:
    """The bytes of the file that a row describes as a whole."""
    return bytes.fromhex(row["hex"]) if "hex" in row else row["text"].encode()


# Configurations


def configuration(row: Mapping) -> bytes:
    if "text" in row or "hex" in row:
        return content(row)
    model = row.get("model", "{kind: planted, odds_ratio: 1}")
    run = row.get("run", "{data: sample}")
    return f"models:\n  m: {model}\nbenchmarks:\n  {row.get('benchmark', 'twbias')}: {run}\n{row.get('more', '')}\n".encode()


@pytest.mark.parametrize("row", rows_of("configurations"))
def test_configuration(row, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "README.md").write_text("x")
    path = tmp_path / f"mine{row.get('suffix', '.yaml')}"
    path.write_bytes(configuration(row))
    with pytest.raises(UserError) as error:
        check_files([path])
        config = load_config(yaml.safe_load(path.read_bytes()), [path])
        check_preflight(config, str(path))
    assert_says(str(error.value), row)
    assert all(line.startswith(f"{path}") for line in str(error.value).splitlines())
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(["README.md", path.name])


def test_a_working_folder_that_takes_no_file_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".snakemake").write_text("")
    with pytest.raises(UserError, match=f"^{tmp_path}: no file can be written in .snakemake there .*another folder.$"):
        paths.link_shipped_files()


@pytest.mark.parametrize(("value", "fault"), [("[" * 2000 + "]" * 2000, "nested too deeply"), ("9" * 5000, "4300")])
def test_a_value_beyond_what_python_takes(value, fault, tmp_path):
    (tmp_path / "mine.yaml").write_text(f"a: {value}\n")
    with pytest.raises(UserError, match=rf"mine\.yaml: not YAML: .*{fault}.*\. Correct it\."):
        check_files([tmp_path / "mine.yaml"])


def test_no_configuration(tmp_path):
    with pytest.raises(UserError, match=r"mine\.yaml: no such file\. Correct the path\."):
        check_files([tmp_path / "mine.yaml"])


def test_what_the_rows_change_is_valid(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_bytes(configuration({}))
    check_files([path])
    check_preflight(load_config(yaml.safe_load(path.read_bytes()), [path]), str(path))
    for name, parser in PARSERS.items():
        (tmp_path / name).mkdir()
        assert len(parser.read(parser.write(tmp_path / name))), name


# Protocols


@pytest.mark.parametrize("row", rows_of("protocols"))
def test_protocol(row, tmp_path, monkeypatch):
    shipped = ROOT / "config/protocols" / row["benchmark"]
    path = tmp_path / row["benchmark"] / "mine.yaml"
    path.parent.mkdir()
    if "like" in row:
        options = yaml.safe_load((shipped / f"{row['like']}.yaml").read_text(encoding="utf-8")) | row.get("set", {})
        options.pop(row.get("without"), None)
        path.write_text(yaml.safe_dump(options))
    else:
        path.write_bytes(content(row))
    monkeypatch.setattr(registry, "_PROTOCOLS", tmp_path)
    monkeypatch.setattr(registry, "ROOT", tmp_path)
    registry.load_options.cache_clear()
    with pytest.raises(UserError) as error:
        registry.load_options(row["benchmark"], "mine")
    assert_says(str(error.value), row)
    assert "mine.yaml" in str(error.value)


# Data


def changed(data: bytes, row: Mapping, suffix: str) -> bytes:
    """A file's bytes after the change that a row describes."""
    if "text" in row or "hex" in row:
        return content(row)
    if suffix == ".xlsx" and "cut" not in row:
        return changed_workbook(data, row)
    if "recode" in row:
        return data.decode().encode(row["recode"])
    if "cut" in row:
        return data[: row["cut"]]
    if "head" in row:
        return b"".join(data.splitlines(keepends=True)[: row["head"]])
    if "replace" in row:
        old, new = row["replace"]
        assert old.encode() in data
        return data.replace(old.encode(), new.encode(), 1)
    return changed_json(data.decode(), row) if "json" in row else changed_csv(data.decode(), row)


def changed_json(text: str, row: Mapping) -> bytes:
    path = list(row["json"])
    lines = text.splitlines() if isinstance(path[0], int) else [text]
    line = path.pop(0) - 1 if isinstance(path[0], int) else 0
    holder = [json.loads(lines[line])]
    part, place = holder, 0
    for key in path:
        part, place = part[place], key
    if row.get("deleted"):
        del part[place]
    else:
        part[place] = row["value"]
    lines[line] = json.dumps(holder[0])
    return "\n".join(lines).encode()


def changed_csv(text: str, row: Mapping) -> bytes:
    rows = list(csv.reader(io.StringIO(text)))
    position = rows[0].index(row["column"] if "column" in row else row["cell"][1])
    if "column" in row:
        rows = [cells[:position] + cells[position + 1 :] for cells in rows]
    else:
        rows[row["cell"][0] - 1][position] = str(row["value"])
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue().encode()


def changed_workbook(data: bytes, row: Mapping) -> bytes:
    book = load_workbook(io.BytesIO(data))
    if "head" in row:
        book.active.delete_rows(row["head"] + 1, book.active.max_row)
    else:
        book.active.cell(*row["cell"]).value = row["value"]
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """FileParser -> the folder and the files that it reads; they are written once."""
    folders = {name: tmp_path_factory.mktemp("files") for name in PARSERS}
    return {name: (folder, PARSERS[name].write(folder)) for name, folder in folders.items()}


@pytest.fixture
def files(row, written, tmp_path) -> Files:
    """The files of a row's parser, with the one that the row is about as it describes it."""
    folder, valid = written[row["parser"]]
    shutil.copytree(folder, tmp_path / "raw")
    copies = {name: tmp_path / "raw" / path.relative_to(folder) for name, path in valid.items()}
    name = row.get("file", PARSERS[row["parser"]].file)
    if row.get("gone"):
        copies.pop(name).unlink()
    else:
        copies[name].write_bytes(changed(copies[name].read_bytes(), row, copies[name].suffix))
    return copies


@pytest.mark.parametrize("row", rows_of("data"))
def test_data(row, files):
    with pytest.raises(UserError) as error:
        PARSERS[row["parser"]].read(files)
    assert_says(str(error.value), row)


def read_items_job(benchmark: str, files: Files, folder: Path) -> SimpleNamespace:
    """What Snakemake tells the script of rule read_items."""
    names = registry.resource_names(benchmark, "items")
    trees = {
        "raw": {name: paths.File(str(path)) for name, path in files.items()},
        "resources": {name: paths.File(str(ROOT / "resources" / name)) for name in names},
    }
    return SimpleNamespace(
        rule="read_items",
        wildcards={"benchmark": benchmark},
        config={"models": {"m": {"kind": "planted", "odds_ratio": 1}}, "benchmarks": {benchmark: {"data": "sample"}}},
        params=SimpleNamespace(
            step={"data": "sample", "read_options": {}} | {k: paths.places(v) for k, v in trees.items()}
        ),
        input={name: paths.files(tree) for name, tree in trees.items()},
        output=SimpleNamespace(items_file=str(folder / "items.parquet")),
        log=[str(folder / "read_items.log")],
        scriptdir=str(ROOT / "scripts"),
    )


ITEMS = [param for param in rows_of("data") if param.values[0]["parser"] in registry.benchmark_names()]


@pytest.mark.parametrize("row", ITEMS)
def test_job(row, files, tmp_path, capsys):
    """The job exits with status 1 and one message, on the terminal and in its log, and writes no file."""
    with pytest.raises(SystemExit) as error:
        job = read_items_job(row["parser"], files, tmp_path)
        runpy.run_path(str(ROOT / "scripts/read_items.py"), {"snakemake": job})
    assert error.value.code == 1
    said = capsys.readouterr().err
    assert (
        said.startswith("error: ") and said.strip().removeprefix("error: ") in (tmp_path / "read_items.log").read_text()
    )
    assert_says(said.strip(), row)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["raw", "read_items.log"]
