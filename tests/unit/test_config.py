"""The configuration: what it refuses and how it says so; what is generated from it."""

import pytest
import yaml

from biasatlas.workflow import config, selection as plan
from biasatlas.errors import UserError

PLANTED = {"kind": "planted", "odds_ratio": 4}
HF = {"kind": "hf", "source": "./model", "size_billion": 7}


def raw(**changes):
    return {"models": {"a": PLANTED}, "benchmarks": {"twbias": {}}} | changes


# name, configuration, what each line of the message says after the file's name
BAD = [
    ("unknown key", raw(reslts="x"), ["reslts: unknown key; did you mean 'results'?"]),
    (
        "unknown key of a model",
        raw(models={"a": PLANTED | {"sead": 1}}),
        ["models.a.sead: unknown key; did you mean 'seed'?"],
    ),
    (
        "unknown key of a template",
        raw(models={"a": HF | {"templates": {"released": {"promt": "x", "prompt": "x", "empty": ""}}}}),
        ["models.a.templates.released.promt: unknown key; did you mean 'prompt'?"],
    ),
    ("missing key", raw(models={"a": {"kind": "planted"}}), ["models.a.odds_ratio: this key is needed and not there"]),
    (
        "unknown kind",
        raw(models={"a": {"kind": "huggingface"}}),
        ["models.a.kind: 'huggingface' is not a kind of model; expected one of: hf, masked, planted, api, released"],
    ),
    ("no kind", raw(models={"a": {"odds_ratio": 1}}), ["models.a: the key `kind` is needed and not there"]),
    (
        "out of range",
        raw(models={"a": PLANTED | {"odds_ratio": 0}}),
        ["models.a.odds_ratio: 0: expected greater than 0"],
    ),
    ("no shards", raw(models={"a": HF | {"shards": 0}}), ["models.a.shards: 0: expected greater than or equal to 1"]),
    (
        "not one of the values",
        raw(models={"a": HF | {"dtype": "bfloat"}}),
        ["models.a.dtype: 'bfloat' is not allowed; did you mean 'bfloat16'?"],
    ),
    (
        "name that is no path",
        raw(models={"a/b": PLANTED}),
        ["models.a/b: 'a/b': expected letters, digits, '.', '_' and '-', the first a letter or digit"],
    ),
    (
        "hub id without revision",
        raw(models={"a": HF | {"source": "owner/name"}}),
        [
            "models.a: a hub id needs `revision`, the commit to pin; a folder must start with ./ or / (which is this?)",
        ],
    ),
    (
        "unknown benchmark",
        raw(benchmarks={"twbais": {}}),
        ["benchmarks.twbais: 'twbais' is not a benchmark; did you mean 'twbias'?"],
    ),
    (
        "unknown protocol, model and target group at once",
        raw(benchmarks={"twbias": {"protocols": ["relesed"], "models": ["b"], "categories": ["femal-male"]}}),
        [
            "benchmarks.twbias.protocols: 'relesed' is not a protocol; did you mean 'released'?",
            "benchmarks.twbias.models: 'b' is not one of the configured models; expected one of: a",
            "benchmarks.twbias.categories: 'femal-male' is not a category; did you mean 'female-male'?",
        ],
    ),
    (
        "unknown release",
        raw(models={"a": {"kind": "released", "benchmark": "twbias", "release": "Breeze"}}),
        [
            "models.a.release: 'Breeze' is not a release of twbias; expected one of: "
            "Taiwan-LLM-7B-v2.0.1-chat, Breeze-7B-Instruct-v0_1",
        ],
    ),
    (
        "files that no benchmark reads",
        raw(benchmarks={"dbb": {"files": {"variation": "v.csv"}}, "bbq": {"files": {"variations": "v.csv"}}}),
        [
            "benchmarks.dbb.files: 'variation' is not a file that dbb reads; did you mean 'variations'?",
            "benchmarks.bbq.files: 'variations' is not a file that bbq reads; expected one of: none",
        ],
    ),
    ("not a mapping", raw(benchmarks={"twbias": 5}), ["benchmarks.twbias: 5: expected a mapping of keys"]),
]


@pytest.mark.parametrize(("bad", "lines"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_message(bad, lines):
    with pytest.raises(UserError) as error:
        config.load_config(bad, ["config/mine.yaml"])
    assert str(error.value).splitlines() == [f"config/mine.yaml: {line}" for line in lines]


def test_defaults():
    loaded = config.load_config(raw())
    assert loaded.benchmarks["twbias"].protocols == ["recommended"]
    assert loaded.mirror is None


@pytest.mark.parametrize("path", sorted((config.ROOT / "config").glob("*.yaml")), ids=lambda path: path.name)
def test_shipped_files_are_valid(path):
    config.load_config(yaml.safe_load(path.read_text(encoding="utf-8")), [path])


@pytest.mark.parametrize(
    ("benchmark", "protocol"),
    [(name, protocol) for name in config.benchmark_names() for protocol in ("paper", "released", "recommended")],
)
def test_shipped_protocols_are_whole(benchmark, protocol):
    options = config.load_protocol(benchmark, protocol)
    assert all(value is not None for value in options.values())


@pytest.mark.parametrize(
    ("run", "asked"),
    [({}, False), ({"data": "sample"}, True), ({"files": {"variations": "v.csv"}}, True)],
    ids=["published data", "sample", "own file"],
)
def test_a_task_that_lacks_a_file_is_left_out_and_says_so(run, asked):
    loaded = config.load_config(raw(benchmarks={"dbb": run}))
    assert plan.tasks(loaded, "dbb", "a") == (["MCQ", "SG"] if asked else ["MCQ"])
    assert ("sg_bias" in plan.tables(loaded, "dbb", "recommended")) == asked
    said = plan.left_out(loaded, "dbb")
    assert len(said) == (not asked)
    assert all("Set `benchmarks.dbb.files.variations`; docs/dbb.md" in sentence for sentence in said)


def test_a_table_of_the_users_file_is_made_where_there_is_one():
    loaded = config.load_config(raw(benchmarks={"mcbe": {"files": {"ratings": "r.csv"}}}))
    tables = plan.tables(loaded, "mcbe", "recommended")
    assert "judge_agreement" in tables and "annotator_agreement" not in tables
    assert plan.data_files(loaded, "mcbe") == {}  # items are read without it
    assert plan.left_out(loaded, "mcbe")[0].startswith("mcbe: task BA is left out: it needs a model that judges")


def test_a_protocol_that_asks_a_judge_needs_one():
    options = {("mcbe", "mine"): config.load_protocol("mcbe", "released") | {"sc_text": "judge_ordered_context"}}
    with pytest.raises(UserError, match=r"benchmarks\.mcbe\.judge: .*'mine' has `sc_text: judge_ordered_context`"):
        plan.check_judges(config.load_config(raw(benchmarks={"mcbe": {}})), options)
    plan.check_judges(config.load_config(raw(benchmarks={"mcbe": {"judge": "a"}})), options)


def test_protocol_message(tmp_path, monkeypatch):
    folder = tmp_path / "config" / "protocols" / "twbias"
    folder.mkdir(parents=True)
    options = config.load_protocol("twbias", "paper") | {"test": "pairde"}
    (folder / "mine.yaml").write_text(yaml.safe_dump(options))
    monkeypatch.setattr(config, "ROOT", tmp_path)
    with pytest.raises(UserError) as error:
        config.load_protocol("twbias", "mine")
    expected = "config/protocols/twbias/mine.yaml: test: 'pairde' is not allowed; did you mean 'paired'?"
    assert str(error.value) == expected


def test_generated_files_are_current():
    assert config.SCHEMA.read_text(encoding="utf-8") == config.schema_text(), "run `make docs`"
    assert config.REFERENCE.read_text(encoding="utf-8") == config.reference_text(), "run `make docs`"
