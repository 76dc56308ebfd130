"""Benchmarks that a YAML file describes: faults in one sentence, scores by theory, real data and published predictions."""

import itertools
import json
import math
import shutil
import tarfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from biasatlas import ROOT
from biasatlas.benchmarks import registry
from biasatlas.benchmarks.families.pairs.scores import shift_replicates
from biasatlas.benchmarks.families.questions.scores import bias_score
from biasatlas.benchmarks.families.rows import read_rows
from biasatlas.benchmarks.scaffold import origins, page_text, start
from biasatlas.errors import UserError
from biasatlas.resources import Resources
from biasatlas.simulation.measure import validate_against_theory
from biasatlas.sources import names_in, raw_files

SHIPPED = tuple(sorted(path.stem for path in (ROOT / "config/benchmarks").glob("*.yaml")))


def read(benchmark, folder):
    names = names_in(folder)
    return registry.read_items(benchmark)(raw_files(names, [Path(folder) / name for name in names]), Resources({}))


def table_of(folder, family, /, **changes):
    """Likelihoods of one's own for every text, twice as likely on the side of men, in the table of a new benchmark."""
    path = described(folder, family, **changes)
    items = read(path, folder / "data")
    rows = [(item, side, -2.0 if side == "men" else -1.0) for item in items["item_id"] for side in ("women", "men")]
    pd.DataFrame(rows, columns=["item", "side", "log_likelihood"]).to_csv(folder / "mine.csv", index=False)
    options, categories = registry.load_options(path, "recommended"), ["nurse", "engineer"]
    requests = registry.build_requests(path)(items, "pair", categories, options, Resources({}))
    responses = registry.formats(path)["scores"]({"mine.csv": folder / "mine.csv"}, items, requests, "pair")
    score = registry.score_responses(path)
    scores = pd.concat(
        [
            score(items, requests, responses, "pair", name, options, Resources({})).assign(
                model="m", task="pair", category=name
            )
            for name in categories
        ],
        ignore_index=True,
    )
    return scores, registry.tables(path)["scores"](scores, options, Resources({}).published, {})


def described(folder, family, /, **changes):
    """The path of a new benchmark's description, with its data beside it; a value of None takes a key out."""
    description, data = origins(family)
    written = yaml.safe_load(description.read_text()) | {"sample": ""} | changes
    path = folder / "mine.yaml"
    path.write_text(yaml.safe_dump({key: value for key, value in written.items() if value is not None}))
    (folder / "data").mkdir(exist_ok=True)
    shutil.copy(data, folder / "data/data.csv")
    registry.description.cache_clear()
    registry.load_spec.cache_clear()
    registry.load_options.cache_clear()
    return str(path)


#: family, the part of a good description that is replaced, the sentence after the file's name.
FAULTS = [
    (
        "pairs",
        {"item": {"id": None}},
        "item: expected text, got {'id': None}, as YAML reads it; put it in quotes: '{id}'",
    ),
    ("pairs", {"famly": "pairs"}, "famly: unknown key; did you mean 'family'?"),
    ("pairs", {"family": "pair"}, "family: 'pair' is not a family of benchmarks; did you mean 'pairs'?"),
    (
        "pairs",
        {"family": None},
        "family: required key is missing; expected one of: pairs, questions, decisions, contexts",
    ),
    (
        "pairs",
        {"prompt": "prompts/nope.txt"},
        "prompt: the workflow has no file resources/prompts/nope.txt. Put it there,",
    ),
    (
        "questions",
        {"prompt": {"mine": "prompts/nope.txt"}},
        "prompt: the workflow has no file resources/prompts/nope.txt",
    ),
    (
        "pairs",
        {"cluster": "city"},
        "yaml: cluster: 'city' would be the text of every item; for the column of that name",
    ),
    ("pairs", {"cluster": 3}, "yaml: cluster: expected text or a mapping of keys, got 3"),
    ("pairs", {"stereotype": {"women": [1], "men": []}}, "yaml: stereotype.women.0: expected text, got 1"),
    ("pairs", {"encoding": ["utf-8"]}, "yaml: encoding: expected text or a mapping of keys, got ['utf-8']"),
    ("questions", {"target": {"nag": "old", "neg": "old", "nonneg": "young"}}, "target.nag: 'nag' is not allowed; did"),
    ("pairs", {"language": "en-US"}, "language: 'en-US' is unknown; did you mean 'en'?"),
    ("pairs", {"item": None}, "item: required key is missing"),
    (
        "pairs",
        {"metrics": ["stereotype_scor"]},
        "metrics: 'stereotype_scor' is unknown; did you mean 'stereotype_score'?",
    ),
    ("pairs", {"language": "english"}, "language: 'english' is unknown"),
    ("pairs", {"source": "gets"}, "source: 'gets' is not in sources.csv; did you mean 'gest'?"),
    (
        "pairs",
        {"stereotype": {"woman": ["nurse"], "men": ["engineer"]}},
        "stereotype: 'woman' is unknown; did you mean 'women'?",
    ),
    ("pairs", {"stereotype": {"women": ["nurse"]}}, "stereotype: 'engineer' is named 0 times; name it once"),
    (
        "pairs",
        {"texts": {"plain": {"women": "{she}", "man": "{he}"}}},
        "texts.plain: 'man' is unknown; did you mean 'men'?",
    ),
    ("pairs", {"item": "{id"}, "'{id' has a brace that encloses no column; write {column}"),
    ("pairs", {"prompt": "{A} or {C}?"}, "prompt: 'C' is unknown; expected one of: A, B"),
    ("questions", {"prompt": "{context} {question} {A} {B}"}, "prompt: it lacks the field {C}"),
    ("questions", {"target": {"neg": "old"}}, "target: 'nonneg' is unknown; did you mean 'neg'?"),
    ("questions", {"metrics": ["weighted_biased_share"]}, "weights: give ambig and disambig"),
    ("questions", {"options": ["old", "young"]}, "options: must have 3 values, got ['old', 'young']"),
    ("questions", {"options": ["old", "old", "neither"]}, "options: 'old' stands there twice; name each once"),
    ("questions", {"unknown": None}, "unknown: required key is missing"),
    ("questions", {"categories": "age"}, "categories: expected a list, or value: name, got 'age'"),
    ("questions", {"categories": ["age", "age"]}, "categories: 'age' stands there twice; name each once"),
    (
        "questions",
        {"context": "context"},
        "context: 'context' would be the text of every item; for the column of that name write {context}",
    ),
    ("pairs", {"sides": ["women", "women"]}, "sides: 'women' stands there twice; name each once"),
    ("pairs", {"directions": {"city": ["Graz"]}}, "directions: one side must be the stereotype of all pairs"),
    ("pairs", {"prompt": {"mine": "mine.txt"}}, "prompt.mine: 'mine.txt' is not a file of resources/prompts/"),
    ("pairs", {"encoding": "mac-romam"}, "encoding: 'mac-romam' is unknown; write utf-8, cp1252, mac_roman, ..."),
    ("pairs", {"delimiter": "||"}, "delimiter: '||' is not one character"),
    ("pairs", {"delimiter": '"'}, "is not one character that separates cells"),
    ("pairs", {"delimiter": "\n"}, "is not one character that separates cells"),
    ("pairs", {"encoding": "rot13"}, "encoding: 'rot13' is unknown; write utf-8, cp1252, mac_roman, ..."),
    ("pairs", {"files": ""}, "files: must not be empty"),
    ("pairs", {"item": ""}, "item: must not be empty"),
    ("pairs", {"title": ["a"]}, "title: expected text, got ['a']"),
    ("pairs", {"categories": {"nurse": "Job", "engineer": "Job"}}, "categories: 'Job' stands there twice"),
    ("questions", {"unknown_names": [""]}, "unknown_names.0: must not be empty"),
    ("questions", {"shuffle": "yes"}, "shuffle: expected true or false, got 'yes'"),
    ("decisions", {"rank": -3}, "rank: must be at least 0, got -3"),
    ("decisions", {"smallest": math.nan}, "smallest: expected a finite number, got nan"),
    (
        "pairs",
        {"derive": {"x": {}}},
        "derive.x: expected one of text, match, map, substitute, below, option, other, got none",
    ),
    ("pairs", {"derive": {"x": {"map": None, "of": "{id}"}}}, "derive.x: expected one of text, match, map"),
    ("pairs", {"derive": {"x": {"match": "(a)", "map": {"a": "b"}, "of": "{id}"}}}, "got match, map"),
    ("pairs", {"derive": {"x": {"match": "(a)"}}}, "derive.x: match needs the key 'of'"),
    ("pairs", {"derive": {"x": {"match": "(a", "of": "{id}"}}}, "match: '(a' is not a regular expression"),
    (
        "pairs",
        {"derive": {"x": {"match": "a", "of": "{id}"}}},
        "match: 'a' has 0 groups; put what is wanted in one (...)",
    ),
    (
        "pairs",
        {"derive": {"x": {"map": {"a": "b"}, "of": "{id}", "labels": ["a", "b", "c"]}}},
        "map has no key 'labels'",
    ),
    ("pairs", {"derive": {"x": {"below": "many", "of": "{id}"}}}, "derive.x.below: expected a number, got 'many'"),
    ("pairs", {"derive": {"x": {"option": "a", "labels": ["id"]}}}, "derive.x.labels: must have 3 values, got ['id']"),
    ("pairs", {"derive": {"x": "{id"}}, "'{id' has a brace that encloses no column; write {column}"),
    ("pairs", {"derive": {"x": {"maps": {"a": "b"}, "of": "{id}"}}}, "derive.x.maps: unknown key; did you mean 'map'?"),
    (
        "pairs",
        {"drop": [{"column": "id", "equals": "1", "count": 0, "reason": "r"}]},
        "drop.0.count: must be at least 1, got 0",
    ),
    ("pairs", {"join": {"file": "x.csv", "columns": ["a"]}}, "join.by: required key is missing"),
    ("pairs", {"categories": [None]}, "yaml: categories.0: expected text, got nothing"),
    ("decisions", {"factors": {"name": {"levels": [["a"]]}}}, "yaml: factors.name.levels.0: expected text, got ['a']"),
    ("pairs", {"metrics": ["stereotype_score"] * 2}, "metrics: 'stereotype_score' stands there twice"),
    ("pairs", {"language": "zh"}, "language: 'zh' is unknown; did you mean 'zh-Hans'?"),
    ("pairs", {"tables": {"mine": {"caption": "x"}}}, "tables: modules beside a spec.yaml of the library make them"),
    ("contexts", {"protocols": {"Recommended": {}}}, "protocols: 'recommended' stands there twice; name each once"),
    ("contexts", {"protocols": {"..": {}}}, "protocols: '..' is no name; use letters, digits"),
    ("contexts", {"protocols": {"a/b": {}}}, "protocols: 'a/b' is no name; use letters, digits"),
    ("contexts", {"protocols": {"x+framings": {}}}, "protocols: 'x+framings' is no name; use letters, digits"),
    (
        "pairs",
        {"texts": {"all": {"women": "{she}", "men": "{he}"}}},
        "texts: call 'all' otherwise; a row of the tables",
    ),
    (
        "pairs",
        {"directions": {"city": ["all"]}, "stereotype": "men"},
        "directions: call 'all' otherwise; a row of the tables has that name",
    ),
    ("pairs", {"cluster": {"shift": "{city}"}}, "cluster: 'shift' is the name of another column; call it otherwise"),
    ("pairs", {"cluster": {"category": "{city}"}}, "cluster: 'category' is the name of another column"),
    (
        "pairs",
        {"join": {"file": "x.csv", "by": {"city": "city"}, "columns": ["city", "size"]}},
        "join: columns: the data have 'city' already; leave it out",
    ),
]


@pytest.mark.parametrize(
    ("family", "changes", "sentence"), FAULTS, ids=[str(next(iter(fault[1]))) + fault[2][:20] for fault in FAULTS]
)
def test_a_fault_in_a_description_is_one_sentence_with_file_and_key(tmp_path, family, changes, sentence):
    path = described(tmp_path, family, **changes)
    with pytest.raises(UserError) as error:
        registry.load_spec(path)
    assert str(error.value).startswith(f"{path}: ") and sentence in str(error.value)
    assert "\n" not in str(error.value)


#: family, the part of a good description that is replaced, the sentence.
DATA_FAULTS = [
    ("pairs", {"item": "{number}"}, "no column 'number'"),
    ("pairs", {"item": "{ctiy}"}, "no column 'ctiy' (did you mean 'city'?)"),
    ("pairs", {"texts": {"plain": {"women": "{she} sings", "men": "{she} sings"}}}, "are the same. Correct `texts`"),
    ("pairs", {"category": "city"}, "line 2: city is 'Graz'. Expected one of nurse, engineer."),
    (
        "pairs",
        {"item": "{city}"},
        "line 3: item 'Graz' is there already. Add a column to `item` that tells them apart.",
    ),
    ("pairs", {"headers": {"idd": "number"}, "item": "{number}"}, "no column 'idd' (did you mean 'id'?)"),
    (
        "pairs",
        {"files": "*.tsv"},
        "expected *.tsv, found data.csv. Name another folder as its data, or correct `files`",
    ),
    ("pairs", {"encoding": "utf-16"}, "data.csv, line 3 (byte 0x0a): not utf-16. Name the encoding that it is in."),
    ("pairs", {"encoding": "punycode"}, "data.csv, line 1: not punycode. Name the encoding that it is in."),
    (
        "decisions",
        {"scenario": "{post}/{change}"},
        "is another one in each of 120 cases, so that nothing can be compared",
    ),
    ("decisions", {"item": "{post}"}, "line 3: item 'driver' is there already."),
    (
        "decisions",
        {"placebos": {"blank": ["blank_lines"]}},
        "line 7: change is 'day_monday'. Expected a level of a factor",
    ),
    ("pairs", {"replace": {"cite": {"Graz": "Linz"}}}, "replace: 'cite' is not read; did you mean 'city'?"),
    (
        "pairs",
        {"errata": [{"items": ["1"], "set": {"hee": "x"}, "reason": "r"}]},
        "errata: 'hee' is not a column; did you mean 'he'?",
    ),
    ("questions", {"polarity": "topic"}, "topic is 'tickets'. Expected one of neg, nonneg."),
    ("questions", {"target": "neither"}, "line 2: target is 'the unknown option'. Expected one of the two others."),
    (
        "questions",
        {"right": "topic"},
        "topic is 'tickets'. Expected one of old, young, neither, its number from 0, or its text.",
    ),
    (
        "pairs",
        {"derive": {"town": {"match": "^(G.*)$", "of": "{city}"}}, "item": "{town}/{id}"},
        "line 4: town: {city} is 'Lille'. Expected what fits ^(G.*)$.",
    ),
    (
        "pairs",
        {"derive": {"town": {"map": {"Graz": "g", "Oslo": "o"}, "of": "{city}"}}, "item": "{town}/{id}"},
        "line 4: town: {city} is 'Lille'. Expected one of Graz, Oslo.",
    ),
    (
        "pairs",
        {
            "derive": {"size": {"below": 3, "of": "{city}", "then": "small", "otherwise": "large"}},
            "item": "{size}/{id}",
        },
        "line 2: size: {city} is 'Graz'. Expected a number.",
    ),
    ("pairs", {"derive": {"x": "{ctiy}"}, "item": "{x}"}, "no column 'ctiy' (did you mean 'city'?)"),
    ("pairs", {"derive": {"x": "{ctiy}"}}, "no column 'ctiy' (did you mean 'city'?)"),
    ("pairs", {"item": "{city.0}"}, "line 2: no city.0: city is 'Graz'. Correct the description, or the row."),
    (
        "pairs",
        {"drop": [{"column": "category", "equals": "nurse", "count": 1, "reason": "r"}]},
        "rows have category 'nurse', the description says 1, first ",
    ),
    (
        "questions",
        {"drop": [{"column": "topic", "equals": "{topic}", "count": 99, "reason": "r"}]},
        "drop: it leaves no row of the data. Correct what it drops.",
    ),
    (
        "pairs",
        {"join": {"file": "stats.csv", "by": {"city": "town"}, "columns": ["size"]}, "item": "{size}/{id}"},
        "expected stats.csv, found data.csv",
    ),
    (
        "questions",
        {"derive": {"who": {"option": "cats", "labels": ["old", "young", "neither"]}}, "target": "who"},
        "line 2: who is ''. Expected one of old, young, neither, its number from 0, or its text.",
    ),
]


def test_a_column_may_be_called_as_our_places_are(tmp_path):
    path = described(tmp_path, "pairs", item="{where}")
    data = tmp_path / "data/data.csv"
    data.write_text(data.read_text().replace("id,", "where,", 1))
    assert read(path, tmp_path / "data")["item_id"].is_unique


@pytest.mark.parametrize(("family", "form"), [("contexts", "answers"), ("decisions", "decisions")])
def test_answers_to_other_items_are_an_error(tmp_path, family, form):
    path = described(tmp_path, family)
    items, own = read(path, tmp_path / "data"), tmp_path / "mine.csv"
    own.write_text("item,answer\n" + "".join(f"z{item},A\n" for item in items["item_id"]))
    with pytest.raises(UserError, match="are no item's, first z"):
        registry.formats(path)[form]({"mine.csv": own}, items, items, "", column=None)


@pytest.mark.parametrize(("family", "changes", "sentence"), DATA_FAULTS)
def test_data_that_the_description_does_not_fit_are_named_by_file_line_and_value(tmp_path, family, changes, sentence):
    path = described(tmp_path, family, **changes)
    with pytest.raises(UserError) as error:
        read(path, tmp_path / "data")
    assert sentence in str(error.value)


#: Scenarios of decisions are of one kind.
DECISIONS = ("discrim_eval", "hiring_bias", "interviews")


@pytest.mark.parametrize("benchmark", [name for name in SHIPPED if name not in DECISIONS])
def test_a_shipped_sample_is_of_several_categories(benchmark):
    items = read(benchmark, ROOT / "resources/samples" / registry.load_spec(benchmark).sample)
    assert items["category"].nunique() > 1 and items["item_id"].is_unique


#: The Dutch and French pairs are described as the English ones are.
BY_THEORY = [name for name in SHIPPED if not name.startswith("crows_pairs")]


@pytest.mark.parametrize("benchmark", [*BY_THEORY, "bbq", "crows_pairs"])
def test_responders_with_a_known_answer_score_what_theory_says(benchmark):
    items = read(benchmark, ROOT / "resources/samples" / benchmark)
    items = items[items["template"] == "he_said"].reset_index(drop=True) if benchmark == "gest" else items
    found = validate_against_theory(benchmark, items)
    assert len(found) >= (8 if benchmark == "interviews" else 10)  # which have one factor
    assert found["right"].all(), found[~found["right"]].to_string()


@pytest.mark.parametrize(("text", "held"), [("pairs", "'pairs'"), ("- a", r"\['a'\]"), ("# a", "no key")])
def test_a_description_that_is_no_mapping_is_one_sentence(tmp_path, text, held):
    (tmp_path / "mine.yaml").write_text(text)
    with pytest.raises(UserError, match=rf"^{tmp_path}/mine\.yaml: the file holds {held}\. Expected a mapping of keys"):
        registry.description.__wrapped__(str(tmp_path / "mine.yaml"))


def test_a_cell_may_hold_a_whole_document(tmp_path):
    path = described(tmp_path, "pairs")
    data = tmp_path / "data/data.csv"
    data.write_text(data.read_text().replace("Graz", "G" * 200_000))
    assert read(path, tmp_path / "data")["more"].str.len().max() > 200_000
    data.write_text(data.read_text().replace("G" * 200_000, '"Graz', 1))
    with pytest.raises(UserError, match=r"line 2: not CSV .*Look for a quotation mark that is not closed"):
        read(path, tmp_path / "data")


@pytest.mark.parametrize("family", registry.FAMILIES)
def test_a_scaffold_works_as_it_is_written(tmp_path, family):
    path = described(tmp_path, family)
    found = validate_against_theory(path, read(path, tmp_path / "data"))
    assert found["right"].all(), found[~found["right"]].to_string()


@pytest.mark.parametrize("family", registry.FAMILIES)
def test_an_installed_command_starts_a_benchmark_in_the_working_folder(tmp_path, monkeypatch, family):
    """Not in the library's folder, where nobody would look for it; its path is all that a configuration needs."""
    monkeypatch.chdir(tmp_path)
    paths = start("mine", family)
    assert paths == [Path("mine.yaml"), Path("mine/data.csv")] and all(path.is_file() for path in paths)
    assert (
        len(read(str(tmp_path / "mine.yaml"), Path("mine")))
        and registry.load_spec(str(tmp_path / "mine.yaml")).sample == ""
    )
    with pytest.raises(UserError, match=r"mine\.yaml: there already"):
        start("mine", family)


def test_a_right_option_that_is_none_is_found_out(tmp_path):
    """Without the fact that settles it, "neither" is right, and not "old"."""
    path = described(tmp_path, "questions", right="old")
    assert not validate_against_theory(path, read(path, tmp_path / "data"))["right"].all()


def test_a_number_in_the_description_is_the_text_of_a_cell(tmp_path):
    path = described(tmp_path, "questions", replace={"right": {"neither": 2}})
    assert (read(path, tmp_path / "data").query("condition == 'ambig'")["gold"] != "").all()


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("data.json", lambda rows, path: rows.to_json(path, orient="records", indent=1)),
        ("data.json", lambda rows, path: rows.to_json(path, orient="records", lines=True)),
        ("data.tsv", lambda rows, path: rows.to_csv(path, index=False, sep="\t")),
        (
            "data.csv",
            lambda rows, path: rows.to_csv(path, index=False, quoting=1, encoding="utf-8-sig", lineterminator="\r\n"),
        ),
    ],
    ids=("list", "lines", "tabs", "as Excel writes it"),
)
def test_other_files_read_as_the_table_does(tmp_path, name, write):
    path = described(tmp_path, "questions", files="*.*")
    table = read(path, tmp_path / "data")
    (tmp_path / "other").mkdir()
    write(pd.read_csv(tmp_path / "data/data.csv", dtype=str), tmp_path / "other" / name)
    assert read(path, tmp_path / "other").equals(table)


@pytest.mark.parametrize(
    ("name", "change", "sentence"),
    [
        ("data.jsonl", {"she": math.inf}, "line 1: she is inf. Expected a text or a number."),
        ("data.csv", {"she": ""}, "line 2: she is '', as in all rows. Fill it in, or take it out of '{she} works as a"),
        ("data.parquet", {}, "data.parquet: a Parquet file. Save its table as CSV (UTF-8)."),
    ],
)
def test_what_would_be_read_wrongly_is_refused(tmp_path, name, change, sentence):
    path = described(tmp_path, "pairs", files="*.*")
    rows = pd.read_csv(tmp_path / "data/data.csv", dtype=str).assign(**change)
    (tmp_path / "data/data.csv").unlink()
    if name.endswith("jsonl"):  # which pandas would write as null
        lines = (json.dumps(row).replace("Infinity", "1e999") + "\n" for row in rows.to_dict("records"))
        (tmp_path / "data" / name).write_text("".join(lines))
    else:
        (rows.to_parquet if name.endswith("parquet") else rows.to_csv)(tmp_path / "data" / name, index=False)
    with pytest.raises(UserError) as error:
        read(path, tmp_path / "data")
    assert sentence in str(error.value)


@pytest.mark.parametrize("name", ["data.csv", "data.JSONL"])
def test_a_mark_before_utf_8_and_large_letters_in_a_name_do_no_harm(tmp_path, name):
    path = described(tmp_path, "pairs", files="*.*", encoding="utf8")
    table = read(path, tmp_path / "data")
    rows = pd.read_csv(tmp_path / "data/data.csv", dtype=str)
    (tmp_path / "other").mkdir()
    text = rows.to_csv(index=False) if name == "data.csv" else rows.to_json(orient="records", lines=True)
    (tmp_path / "other" / name).write_text(text, encoding="utf-8-sig")
    assert read(path, tmp_path / "other").equals(table)


def test_a_truth_value_is_the_text_that_json_has(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"is": true, "in": {"is": false}}\n')
    description = registry.description(described(tmp_path, "pairs", files="rows.jsonl"))
    rows = read_rows(description, {"rows.jsonl": tmp_path / "rows.jsonl"}, ["is", "in.is"])
    assert rows[["is", "in.is"]].to_numpy().tolist() == [["true", "false"]]


#: A column made by a rule -> what it is in each row of the table below.
DERIVED = [
    ("constant", ["constant"] * 3),
    ({"text": "{name} of {groups.0}"}, ["Ann of f", "Ben of lowSES", "Cem of m"]),
    ({"match": r"-(\w)$", "of": "{id}"}, ["x", "y", "z"]),
    ({"match": "(b)", "of": "{id}", "otherwise": "none"}, ["none", "b", "none"]),
    ({"map": {"1": "{name}"}, "of": "{n}", "otherwise": "more"}, ["Ann", "more", "more"]),
    ({"substitute": {"$A": "{name}", "$AB": "x"}, "of": "$AB, $A!"}, ["x, Ann!", "x, Ben!", "x, Cem!"]),
    ({"below": 2.5, "of": "{n}", "then": "few", "otherwise": "{n}"}, ["few", "few", "3"]),
    # "poor" and "lowSES" are one group; a part of a label after a comma counts; nobody is both.
    ({"option": "{groups}", "labels": ["a", "b", "c"], "also": {"lowses": ["poor"]}}, ["0", "1", "2"]),
    ({"option": "unknown", "labels": ["a", "b", "c"]}, ["1", "2", "0"]),
    ({"option": "{name}", "labels": ["a", "b", "c"]}, ["", "", ""]),
]


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
@pytest.mark.parametrize(("rule", "expected"), DERIVED)
def test_a_column_is_derived_by_its_rule(tmp_path, rule, expected, suffix):
    rows = [
        {"id": "a-x", "n": 1, "name": "Ann", "groups": ["f"], "a": "F", "b": "unknown", "c": "m"},
        {"id": "b-y", "n": 2, "name": "Ben", "groups": ["lowSES"], "a": "rich", "b": "m, poor", "c": "unknown"},
        {"id": "c-z", "n": 3, "name": "Cem", "groups": ["m"], "a": "unknown", "b": "f", "c": "m"},
    ]
    if suffix == "csv":
        pd.DataFrame(rows).to_csv(tmp_path / "rows.csv", index=False)
    else:
        (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    path = described(tmp_path, "pairs", files=f"*.{suffix}", derive={"made": rule})
    raw = read_rows(registry.description(path), {f"rows.{suffix}": tmp_path / f"rows.{suffix}"}, ["made", "id"])
    assert list(raw["made"]) == expected


def test_the_third_option_is_neither_of_two(tmp_path):
    pd.DataFrame({"a": ["0", "2", ""], "b": ["2", "2", "1"]}).to_csv(tmp_path / "rows.csv", index=False)
    path = described(tmp_path, "pairs", derive={"c": {"other": ["a", "b"]}})
    rows = read_rows(registry.description(path), {"rows.csv": tmp_path / "rows.csv"}, ["c"])
    assert list(rows["c"]) == ["1", "", ""]


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ("town,size\nGraz,1\nOslo,2\n", "has no row of Lille. Take both from one version."),
        ("town,size\nGraz,1\nGraz,2\n", "stats.csv, line 3: a second row of Graz. Keep one, or join by more columns."),
        ("town,sise\nGraz,1\n", "no column 'size' (did you mean 'sise'?)"),
    ],
)
def test_a_second_file_has_one_row_for_each_row_of_the_data(tmp_path, table, sentence):
    join = {"file": "stats.csv", "by": {"city": "town"}, "columns": ["size"]}
    path = described(tmp_path, "pairs", files="data.csv", join=join, item="{size}/{id}")
    (tmp_path / "data/stats.csv").write_text(table)
    with pytest.raises(UserError) as error:
        read(path, tmp_path / "data")
    assert sentence in str(error.value)


def test_a_file_in_another_encoding_is_read_in_it_and_refused_in_utf_8(tmp_path):
    path = described(tmp_path, "pairs")
    data = tmp_path / "data/data.csv"
    data.write_text(data.read_text().replace("Graz", "Göteborg"), encoding="mac_roman")
    with pytest.raises(UserError, match=r"data\.csv, line 2 \(byte 0x9a\): not UTF-8\. Save the file as UTF-8\."):
        read(path, tmp_path / "data")
    path = described(tmp_path, "pairs", encoding={"*.csv": "ascii"})
    data.write_text(data.read_text().replace("Graz", "Göteborg"), encoding="mac_roman")
    with pytest.raises(UserError, match=r"line 2 \(byte 0x9a\): not ascii\. Name the encoding that it is in\."):
        read(path, tmp_path / "data")
    path = described(tmp_path, "pairs", encoding={"*.csv": "mac_roman", "data*": "cp1252"})
    with pytest.raises(UserError, match=r"data\.csv fits '\*\.csv' \(mac_roman\) and 'data\*' \(cp1252\)\. Write"):
        read(path, tmp_path / "data")
    path = described(tmp_path, "pairs", encoding={"*.csv": "mac_roman"}, cluster="{city}")
    data.write_text(data.read_text().replace("Graz", "Göteborg"), encoding="mac_roman")
    assert "Göteborg" in set(read(path, tmp_path / "data")["cluster"])


def test_columns_inside_columns_have_dots(tmp_path):
    path = described(tmp_path, "questions")
    table = read(path, tmp_path / "data")
    rows = pd.read_csv(tmp_path / "data/data.csv", dtype=str)
    (tmp_path / "lines").mkdir()
    rows.assign(nested=[{"id": [value]} for value in rows["id"]]).drop(columns="id").to_json(
        tmp_path / "lines/data.jsonl", orient="records", lines=True
    )
    path = described(tmp_path, "questions", files="*.jsonl", item="{nested.id.0}")
    assert read(path, tmp_path / "lines").equals(table)


def test_options_change_places_and_roles_go_with_them(tmp_path):
    plain = read(described(tmp_path, "questions", shuffle=False), tmp_path / "data")
    mixed = read(described(tmp_path, "questions"), tmp_path / "data")
    assert set(plain["unknown"]) == {"C"} and set(mixed["unknown"]) == {"A", "B", "C"}
    for role in ("gold", "unknown", "target"):
        texts = [[row[row[role]] for row in items.to_dict("records")] for items in (plain, mixed)]
        assert texts[0] == texts[1]


def test_predictions_of_one_s_own(tmp_path):
    """Each answer is the stereotype's, but for one that is no option, one empty, and one item without a row."""
    path = described(tmp_path, "questions")
    items = read(path, tmp_path / "data")
    answers = [row[row["target"]].upper() for row in items.to_dict("records")]
    answers[:2] = ["Both of them", ""]
    rows = pd.DataFrame({"item": items["item_id"], "answer": answers})
    rows.iloc[:-1].to_csv(tmp_path / "mine.csv", index=False)
    options = registry.load_options(path, "recommended")
    requests = registry.build_requests(path)(items, "question", ["age"], options, Resources({}))
    responses = registry.formats(path)["answers"]({"mine.csv": tmp_path / "mine.csv"}, items, requests, "question")
    assert list(responses["status"]) == ["unparseable", "refused", *["ok"] * (len(items) - 3), "failed"]
    scores = registry.score_responses(path)(items, requests, responses, "question", "age", options, Resources({}))
    assert (scores["biased"].dropna() == 1).all() and scores["biased"].notna().sum() == len(items) - 3
    table = registry.tables(path)["bias"](
        scores.assign(model="m", category="age"), options, Resources({}).published, {}
    )
    rates = table[(table["metric"] == "refusal_rate") & (table["category"] == "age")].set_index("condition")
    asked = items["condition"].value_counts()
    refused = items["condition"].iloc[1]
    assert rates.loc[refused, "value"] == pytest.approx(
        100 / (asked[refused] - (items["condition"].iloc[-1] == refused))
    )


#: Whether each right answer follows the stereotype, and what is answered.
ONE_SIDED = {
    "one side": ([1.0] * 6, [1.0] * 6),
    "neither": ([np.nan] * 6, [1.0] * 6),
    "the other refused": ([1.0] * 3 + [0.0] * 3, [1.0] * 3 + [np.nan] * 3),
}


@pytest.mark.parametrize("aligned, answered", ONE_SIDED.values(), ids=ONE_SIDED)
def test_a_balanced_score_needs_answers_of_both_sorts(aligned, answered):
    """All answers follow the stereotype: right ones, or mistakes where "unknown" is right."""
    answered = pd.Series(answered)
    scores = pd.DataFrame({"aligned": aligned, "biased": answered, "counter": 1 - answered, "answered": answered})
    found = bias_score(scores, pd.Series([*"abcdef"]), "disambig", "balanced")
    assert np.isnan(found.value) and found.no_interval_reason


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_letters_mean_the_options_that_the_model_saw_in_any_order(tmp_path, order):
    path = described(tmp_path, "questions", shuffle=True)
    items = read(path, tmp_path / "data")
    options = registry.load_options(path, "recommended")
    requests = registry.build_requests(path)(items, "question", ["age"], options, Resources({}))
    shown = pd.DataFrame(items[list("ABC")].to_numpy()[:, order], columns=list("ABC"))
    gold = [row[row["gold"]] for row in items.to_dict("records")]
    letters = [
        next(k for k, text in row.items() if text == right)
        for row, right in zip(shown.to_dict("records"), gold, strict=True)
    ]
    shown.assign(item=items["item_id"], answer=letters).to_csv(tmp_path / "mine.csv", index=False)
    answers = registry.formats(path)["answers"]
    responses = answers({"mine.csv": tmp_path / "mine.csv"}, items, requests, "question")
    scores = registry.score_responses(path)(items, requests, responses, "question", "age", options, Resources({}))
    assert (responses["status"] == "ok").all() and (scores["correct"] == 1).all()
    # Without the options nobody knows which order the letters are of.
    pd.DataFrame({"item": items["item_id"], "answer": letters}).to_csv(tmp_path / "letters.csv", index=False)
    with pytest.raises(UserError, match=r"letters\.csv, line 2: answer '[ABC]' is a letter.* columns A, B and C"):
        answers({"letters.csv": tmp_path / "letters.csv"}, items, requests, "question")
    shown.assign(item=items["item_id"], answer=letters, B="Nobody").to_csv(tmp_path / "others.csv", index=False)
    with pytest.raises(UserError, match=r"others\.csv, line 2: item .* shows the options"):
        answers({"others.csv": tmp_path / "others.csv"}, items, requests, "question")


@pytest.mark.parametrize(
    ("header", "answer", "shuffle", "sentence"),
    [
        ("item,answer", "a", True, r"line 2: answer 'A' is a letter.* columns A, B and C"),
        ("item,answer", "(B)", True, r"line 2: answer 'B' is a letter.* columns A, B and C"),
        ("item,answer", "C.", True, r"line 2: answer 'C' is a letter.* columns A, B and C"),
        ("item,answer", "1", False, r"line 2: answer '1' is a number, which may count from 0 or from 1"),
        ("item,answer,A,B", "A,old,young", False, r"it has the columns A, B\. Expected A, B and C"),
        ("item,answer,a,b,c", "A,x,y,z", False, r"it has the columns a, b, c\. Expected A, B and C"),
    ],
)
def test_what_may_be_a_letter_of_another_order_is_refused(tmp_path, header, answer, shuffle, sentence):
    path = described(tmp_path, "questions", shuffle=shuffle)
    items, options = read(path, tmp_path / "data"), registry.load_options(path, "recommended")
    requests = registry.build_requests(path)(items, "question", ["age"], options, Resources({}))
    rows = [f"{item},{answer}" for item in items["item_id"]]
    (tmp_path / "mine.csv").write_text("\n".join([header, *rows]) + "\n")
    with pytest.raises(UserError, match=r"mine\.csv.*" + sentence):
        registry.formats(path)["answers"]({"mine.csv": tmp_path / "mine.csv"}, items, requests, "question")


def test_a_loss_is_no_log_likelihood(tmp_path):
    """With its sign every preference would be the other."""
    path = described(tmp_path, "pairs")
    items, options = read(path, tmp_path / "data"), registry.load_options(path, "recommended")
    requests = registry.build_requests(path)(items, "pair", ["nurse", "engineer"], options, Resources({}))
    (tmp_path / "mine.csv").write_text("item,side,log_likelihood\n1,women,-3\n1,men,31.5\n")
    with pytest.raises(UserError, match=r"mine\.csv, line 3: log_likelihood is '31\.5', and no text's is above 0"):
        registry.formats(path)["scores"]({"mine.csv": tmp_path / "mine.csv"}, items, requests, "pair")


def test_a_column_is_made_from_those_above_it_alone(tmp_path):
    with pytest.raises(UserError, match=r"mine\.yaml: derive\.place: 'town' is made below it; put that first"):
        registry.description(described(tmp_path, "pairs", derive={"place": "in {town}", "town": "{city}"}))


def test_likelihoods_of_one_s_own(tmp_path):
    scores, table = table_of(tmp_path, "pairs")
    by_category = scores.groupby("category")["stereotyped"]
    assert by_category.agg(set).to_dict() == {"nurse": {1.0}, "engineer": {0.0}}
    ratio = table.query("metric == 'likelihood_ratio' and category == 'overall' and direction == 'all'")
    assert ratio["value"].item() == pytest.approx(np.e)


def test_a_described_set_with_sides_has_their_shift_and_its_headline(tmp_path):
    """Every text is e times as likely on the side of men, of nurses too: a liking for a side, and no stereotype."""
    _, table = table_of(tmp_path, "pairs")
    (found,) = table[table["metric"] == "side_shift"].to_dict("records")
    assert found["value"] == pytest.approx(0, abs=1e-12) and found["n"] > 0
    spec = registry.load_spec(str(tmp_path / "mine.yaml"))
    assert (spec.headlines[0].metric, spec.headlines[0].null, spec.headlines[0].smallest) == ("side_shift", 0, 0.23)


@pytest.mark.parametrize(("cluster", "factors"), [("{city}", {"categories", "clusters"}), ("{id}", {"categories"})])
def test_a_shift_of_sides_is_over_clusters_too_where_categories_share_them(tmp_path, cluster, factors):
    """Towns have what their pairs have in common in every category: 22% of fair models were called biased without them."""
    scores, _ = table_of(tmp_path, "pairs", cluster=cluster)
    found = shift_replicates(scores, registry.description(str(tmp_path / "mine.yaml")))
    assert found.factors.keys() == factors


def test_pairs_of_both_directions_in_a_category_are_asked_for_their_ends(tmp_path):
    """The column of the data that says which side is the stereotype, as `stereotype` may name."""
    path = described(tmp_path, "pairs", stereotype="about", categories=["nurse", "engineer"])
    rows = pd.read_csv(tmp_path / "data/data.csv", dtype=str)
    rows.assign(about=["women", "men"] * (len(rows) // 2)).to_csv(tmp_path / "data/data.csv", index=False)
    items, options = read(path, tmp_path / "data"), registry.load_options(path, "recommended")
    requests = registry.build_requests(path)(items, "pair", ["nurse", "engineer"], options, Resources({}))
    assert set(requests["label"]) == {"more", "less", "more_end", "less_end"}
    assert registry.load_spec(path).headlines[0].metric == "balanced_shift"


def test_directions_of_the_data_split_the_tables_and_clusters_have_a_name(tmp_path):
    """Of a benchmark where the text of women is the stereotype of every pair: the ratio of the two is as before."""
    changes = {"stereotype": "women", "directions": {"category": ["engineer", "nurse"]}, "cluster": {"town": "{city}"}}
    scores, table = table_of(tmp_path, "pairs", **changes)
    assert set(scores["stereotyped"]) == {1.0} and scores["town"].notna().all() and "template" not in scores
    overall = table[table["category"] == "overall"].set_index(["metric", "direction"])["value"]
    assert list(overall["stereotype_score"].index) == ["all", "nurse", "engineer"]
    assert overall["likelihood_ratio", "all"] == pytest.approx(np.e)


def test_the_text_that_is_compared_first_follows_the_direction(tmp_path):
    changes = {"stereotype": "women", "directions": {"category": ["engineer", "nurse"]}}
    path = described(tmp_path, "pairs", **changes)
    items = read(path, tmp_path / "data")
    options = registry.load_options(path, "recommended")
    requests = registry.build_requests(path)(items, "pair", ["nurse", "engineer"], options, Resources({}))
    first = requests["pair"].map(lambda pair: json.loads(pair)[0])
    asked = items.set_index("item_id").loc[requests["item_id"]].reset_index()
    assert (first == asked["more"].where(asked["category"] == "engineer", asked["less"])).all()


def test_a_template_in_a_file_is_checked_when_it_is_asked(tmp_path):
    path = described(tmp_path, "pairs", prompt="prompts/bbq/letter.txt")
    items, options = read(path, tmp_path / "data"), registry.load_options(path, "recommended")
    assert registry.resource_names(path, "requests") == ["prompts/bbq/letter.txt"]
    with pytest.raises(UserError, match=r"resources/prompts/bbq/letter\.txt: prompt: 'context' is unknown"):
        registry.build_requests(path)(
            items, "pair_choice", ["nurse"], options, Resources.shipped("prompts/bbq/letter.txt")
        )


@pytest.mark.parametrize("benchmark", SHIPPED)
def test_a_page_says_what_the_description_does(benchmark):
    assert registry.description(benchmark).asks
    assert (ROOT / "docs" / f"{benchmark}.md").read_text() == page_text(benchmark), (
        f"make benchmark-page NAME={benchmark}"
    )


@pytest.mark.parametrize("benchmark", ["bbq", "crows_pairs"])
def test_a_page_that_is_written_by_hand_is_left_alone(benchmark):
    with pytest.raises(UserError, match="its page is written by hand"):
        page_text(benchmark)


@pytest.fixture(scope="module")
def unpacked(mirror, tmp_path_factory):
    """Data and predictions that the mirror has in archives."""
    folder = tmp_path_factory.mktemp("described")
    for name in (
        "esbbq/data_es",
        "cabbq/data_ca",
        "cbbq/instances",
        "gest/predictions_english_mlm",
        "gest/predictions_english_glm",
    ):
        with tarfile.open(mirror / f"{name}.tar.xz") as archive:
            archive.extractall(folder / name.partition("/")[0], filter="data")
    shutil.copytree(mirror / "gest/data", folder / "gest/data", dirs_exist_ok=True)
    return folder


def test_esbbq_has_27320_questions_and_the_pregnant_woman_first(unpacked):
    items = read("esbbq", unpacked / "esbbq").set_index("item_id")
    assert len(items) == 27_320
    assert items["template"].nunique() == 323
    corrected = items.loc[
        [f"PhysicalAppearance/{number}" for number in (1060, 1061, 1062, 1063, 1076, 1077, 1078, 1079)]
    ]
    targets = [row[row["target"]] for row in corrected.to_dict("records")]
    pregnant, other = "La embarazada", "La empleada que no estaba embarazada"
    assert targets == [pregnant, pregnant, other, other] * 2
    right = [row[row["gold"]] for row in corrected[corrected["condition"] == "disambig"].to_dict("records")]
    assert right == [other, pregnant] * 2


#: Benchmark -> its folder in the mirror, items, and what they are sampled from (templates, texts, rows).
FOREIGN = {
    "cabbq": ("", 27_344, 323),
    "kobbq": ("kobbq", 2_280, 269),
    "rubia": ("rubia", 2_220, 1_988),
    "crows_pairs_nl": ("crows_pairs_nl", 1_463, 1_463),
    "crows_pairs_fr": ("crows_pairs_nl", 1_461, 1_461),
    "winogender": ("winogender", 120, 60),
}


@pytest.mark.parametrize("benchmark", FOREIGN)
def test_a_benchmark_of_others_has_the_items_of_its_data(unpacked, mirror, benchmark):
    folder, count, clusters = FOREIGN[benchmark]
    items = read(benchmark, mirror / folder if folder else unpacked / benchmark)
    (factor,) = [each.items[0] for each in registry.load_spec(benchmark).design.values() if each.sampled]
    assert (len(items), items[factor].nunique()) == (count, clusters)
    if "target" in items:
        asked = items[items["condition"] == "disambig"].groupby("polarity")
        share = asked.apply(lambda rows: (rows["gold"] == rows["target"]).mean())
        assert share.between(0.49, 0.52).all() and (items["gold"] == items["unknown"]).mean() < 0.51


def test_winogender_s_filled_sentences_are_its_authors_own(mirror):
    items = read("winogender", mirror / "winogender")
    theirs = set(pd.read_csv(mirror / "winogender/data/all_sentences.tsv", sep="\t")["sentence"])
    assert {*items["more"], *items["less"]} <= theirs
    usual = items[items["item_id"].isin(["nurse/0", "engineer/1"])].set_index("item_id")["more"]
    assert " her " in usual["nurse/0"] and " he " in usual["engineer/1"]


def test_the_line_in_another_encoding_is_put_right(mirror):
    items = read("crows_pairs_nl", mirror / "crows_pairs_nl").set_index("item_id")
    assert "één werkende ouder" in items.loc["1367", "more"]


def test_cabbq_s_stereotypes_are_about_glasses_and_pregnancy(unpacked):
    items = read("cabbq", unpacked / "cabbq").set_index("item_id")
    for ids, about in (((1060, 1061, 1076, 1077), "embarassada"), ((3456, 3457, 3504, 3521), "que portava ulleres")):
        asked = items.loc[[f"PhysicalAppearance/{number}" for number in ids]]
        assert all(row[row["target"]].endswith(about) for row in asked.to_dict("records"))
    # The words of the context say who is right; an exchange of the options leaves that as it was.
    right = items.loc[["PhysicalAppearance/1061", "PhysicalAppearance/3457"]].to_dict("records")
    assert [row[row["gold"]] for row in right] == [
        "L'empleada que no estava embarassada",
        "L'amic que no portava ulleres",
    ]


@pytest.mark.parametrize(("benchmark", "groups", "types"), [("cabbq", 36, 12), ("esbbq", 12, 4)])
def test_two_witnesses_of_a_fact_differ_in_the_known_rows_and_in_one_more_stop_the_run(
    unpacked, tmp_path, caplog, benchmark, groups, types
):
    caplog.set_level("INFO")
    read(benchmark, unpacked / benchmark)
    assert f"in_groups differs from 0 in {groups} rows" in caplog.text
    assert f"type differs from {{question_type}} in {types} rows" in caplog.text
    shutil.copytree(unpacked / benchmark, tmp_path / "data")
    (path,) = (tmp_path / "data").rglob("Age.full.csv")
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    one = rows.index[rows["question_type"] == "pro-stereo"][0]
    rows.loc[one, "question_type"] = "anti-stereo"
    rows.to_csv(path, index=False)
    sentence = f"Age.full.csv, line {one + 2}: type is 'pro-stereo', and {{question_type}} is 'anti-stereo'; so in {types + 1} of"
    with pytest.raises(UserError) as error:
        read(benchmark, tmp_path / "data")
    # The known rows come later in the data.
    assert sentence in str(error.value)


def test_cbbq_has_the_counts_of_its_data(unpacked):
    items = read("cbbq", unpacked / "cbbq")
    whole = items.groupby("category")["condition"].nunique() == 2
    counts = items["category"].value_counts()[whole[whole].index].to_dict()
    assert len(items) == 63_524
    assert counts == {
        "SES": 7920,
        "disability": 3144,
        "disease": 1172,
        "educational_qualification": 2784,
        "ethnicity": 1960,
        "gender": 3372,
        "physical_appearance": 3712,
        "region": 4352,
        "religion": 5900,
        "sexual_orientation": 1120,
    }


@pytest.fixture(scope="module")
def gest_runs(unpacked):
    """Run (model and text) -> scores of GEST as its authors' released differences make them, in nats."""
    items = read("gest", unpacked / "gest").query("template == 'he_said'")
    about = items[["item_id", "category", "direction", "template", "cluster"]].assign(
        words=items["more"].str.split().str.len()
    )
    paths = sorted((unpacked / "gest").rglob("*_template-*.txt"))
    return {path.name: about.assign(shift=np.log(10) * np.loadtxt(path)) for path in paths}


def test_each_of_gest_s_90_released_runs_shifts_towards_the_stereotypes(gest_runs):
    found = {name: shift_replicates(scores, registry.description("gest")) for name, scores in gest_runs.items()}
    values = pd.Series({name: each.value for name, each in found.items()})
    assert len(values) == 90 and (values > 0).all()
    assert values.median() == pytest.approx(0.153 * np.log(10), rel=0.01)
    assert values.idxmin() == "bert-base-multilingual-cased_template-3.txt"
    inference = found[values.idxmax()].inference()
    assert inference.n_clusters == 16 and 12 < inference.df < 14 and inference.low > 0.23


def test_a_cost_of_words_or_of_a_side_is_no_shift_of_sides(gest_runs):
    """Sentences about stereotypes of women are longer; each of 16 stereotypes weighs the same."""
    scores, noise = next(iter(gest_runs.values())), np.random.default_rng(0)
    of_side = lambda values: shift_replicates(scores.assign(shift=values), registry.description("gest"))  # noqa: E731
    assert of_side(1 - 0.05 * scores["words"]).value == pytest.approx(0, abs=1e-12)
    he = (scores["direction"] == "he").to_numpy()
    stereotype = scores["category"].map(dict(zip(scores["category"].unique(), noise.normal(0, 0.3, 16), strict=True)))
    found = of_side(np.where(he, 0.5, -0.5) + stereotype + noise.normal(size=len(scores))).inference()
    assert found.low < 1 < found.high and found.p_value() < 0.05


def test_gest_s_1408_printed_means_come_out_of_its_released_scores(unpacked):
    """By the formula of `log10_ratio`; one model goes through scores and the table."""
    items = read("gest", unpacked / "gest")
    options, spec = registry.load_options("gest", "recommended"), registry.load_spec("gest")
    requests = registry.build_requests("gest")(items, "pair", spec.tasks["pair"].categories, options, Resources({}))
    published = Resources.shipped("published/gest_means.csv").published("gest_means")
    about = items.set_index("item_id").loc[requests["item_id"], ["category", "direction", "template"]].reset_index()
    sign = np.where((about["direction"] == "he") == (requests["label"] == "more"), 1.0, -1.0)
    printed = published.set_index(["model", "category", "template"])["value"]
    found = {}
    for model in published["model"].unique():
        files = {str(path): path for path in (unpacked / "gest").rglob(f"{model}_template-*.txt")}
        responses = registry.formats("gest")["differences"](files, items, requests, "pair")
        nats = (sign * responses["log_likelihood"]).where(responses["status"] == "ok")
        # Of the two texts of a pair one has the difference, the other 0.
        mean = 2 * nats.groupby([about["category"], about["template"]]).mean().dropna()
        found |= {(model, *key): f"{value:.2f}" for key, value in np.exp(mean / np.log(10)).items()}
    assert len(found) == 1408
    assert {key: f"{float(value):.2f}" for key, value in printed.items()} == found

    parts = [
        registry.score_responses("gest")(items, requests, responses, "pair", name, options, Resources({})).assign(
            model=model, task="pair", category=name
        )
        for name in spec.tasks["pair"].categories
    ]
    table = registry.tables("gest")["scores"](
        pd.concat(parts, ignore_index=True), options, lambda name: published, {model: model}
    )
    beside = table[table["published"].notna()]
    assert len(beside) in (32, 64) and (beside["difference"].abs() <= 0.005).all()


@pytest.fixture(scope="module")
def rubia_scores(mirror):
    """RuBia's table of scores, from the perplexities that its authors published of nine models."""
    items = read("rubia", mirror / "rubia")
    options = registry.load_options("rubia", "released")
    description = registry.description("rubia")
    requests = registry.build_requests("rubia")(items, "pair", description.categories, options, Resources({}))
    files = {"scored_data.tsv": mirror / "rubia/scored_data.tsv"}
    scores = []
    for release in description.released:
        responses = registry.import_responses("rubia")(release, files, items, requests, "pair")
        scores += [
            registry.score_responses("rubia")(
                items, requests, responses, "pair", category, options, Resources({})
            ).assign(model=release, task="pair", category=category)
            for category in description.categories
        ]
    published_as = {name: name for name in description.released}
    named = {"twhin-bert": "TwHIN-BERT", "rubert-base": "ruBERT-base", "ruBert-large": "ruBERT-large"}
    named |= {"ruRoberta-large": "ruRoBERTa-large", "ruGPT-base": "ruGPT-medium"}
    printed = Resources.shipped("published/rubia_scores.csv").published
    return registry.tables("rubia")["scores"](
        pd.concat(scores, ignore_index=True), options, printed, published_as | named
    )


def test_rubia_s_perplexities_give_the_printed_scores_of_two_domains(rubia_scores):
    """The other two were printed of another version of the data."""
    rows = rubia_scores.query("metric == 'stereotype_score' and direction == 'all' and published.notna()")
    assert len(rows) == 36
    same = rows[rows["category"].isin(["class", "nationality"])]
    # Printed with one decimal, some of them cut off and not rounded.
    assert len(same) == 18 and same["difference"].abs().max() < 0.06
    others = rows.drop(same.index)["difference"].abs()
    assert 5 < others.max() < 8


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("pro-trope\tanti-trope\n", "no column 'ppl-pro-XGLM'"),
        (
            "pro-trope\tanti-trope\tppl-pro-XGLM\tppl-anti-XGLM\na\tb\t0\t2\n",
            r"line 2: ppl-pro-XGLM is 0\.0\. Expected a perplexity",
        ),
        ("pro-trope\tanti-trope\tppl-pro-XGLM\tppl-anti-XGLM\na\tb\tx\t2\n", r"line 2: 'x'\. Expected a number"),
    ],
)
def test_a_published_table_that_does_not_fit_is_one_sentence(tmp_path, text, sentence):
    items = read("rubia", ROOT / "resources/samples/rubia")
    options = registry.load_options("rubia", "released")
    requests = registry.build_requests("rubia")(items, "pair", ["class"], options, Resources({}))
    (tmp_path / "scored_data.tsv").write_text(text)
    with pytest.raises(UserError, match=sentence):
        registry.import_responses("rubia")(
            "XGLM", {"scored_data.tsv": tmp_path / "scored_data.tsv"}, items, requests, "pair"
        )
    with pytest.raises(UserError, match="RuBia, XGLM: no table of published scores in none"):
        registry.import_responses("rubia")("XGLM", {}, items, requests, "pair")
