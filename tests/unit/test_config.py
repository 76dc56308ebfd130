"""The configuration: what it refuses and how it says so; what is generated from it; what it asks for."""

import re

import pytest
import yaml

from biasatlas import ROOT
from biasatlas.benchmarks import registry
from biasatlas.errors import UserError
from biasatlas.workflow import selection
from biasatlas.workflow.config import load_config, reference
from biasatlas.workflow.preflight import check_preflight

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
    ("missing key", raw(models={"a": {"kind": "planted"}}), ["models.a.odds_ratio: required key is missing"]),
    (
        "unknown kind",
        raw(models={"a": {"kind": "huggingface"}}),
        [
            "models.a.kind: 'huggingface' is not a kind of model; expected one of: hf, masked, planted, simulated, api, released"
        ],
    ),
    ("no kind", raw(models={"a": {"odds_ratio": 1}}), ["models.a.kind: required key is missing"]),
    (
        "out of range",
        raw(models={"a": PLANTED | {"odds_ratio": 0}}),
        ["models.a.odds_ratio: must be greater than 0, got 0"],
    ),
    ("no shards", raw(models={"a": HF | {"shards": 0}}), ["models.a.shards: must be at least 1, got 0"]),
    (
        "not one of the values",
        raw(models={"a": HF | {"dtype": "bfloat"}}),
        ["models.a.dtype: 'bfloat' is not allowed; did you mean 'bfloat16'?"],
    ),
    (
        "name that is no path",
        raw(models={"a/b": PLANTED}),
        [
            "models.a/b: use letters, digits, '.', '_' and '-' in a name, a letter or digit first, "
            "and 100 characters at most"
        ],
    ),
    (
        "hub id without revision",
        raw(models={"a": HF | {"source": "owner/name"}}),
        [
            "models.a: start a folder with ./ or /; otherwise add `revision`, the commit to pin",
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
            "models.a.release: 'Breeze' is not a release of twbias; did you mean 'Breeze-7B-Instruct-v0_1'?",
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
    (
        "a judge that cannot write",
        raw(
            models={"a": PLANTED, "m": {"kind": "masked", "source": "./bert"}},
            benchmarks={"mcbe": {"judge": "m"}},
        ),
        [
            "benchmarks.mcbe.judge: 'm' is of kind 'masked', which cannot judge: it writes no text. "
            "Name a model of kind hf, planted, simulated, api."
        ],
    ),
    (
        "a writer of published outputs",
        raw(
            models={"r": {"kind": "released", "benchmark": "stereoset", "release": "gpt2"}},
            benchmarks={"stereoset": {}},
            construction={"writer": "r"},
        ),
        [
            "construction.writer: 'r' is of kind 'released', which cannot write: it writes no text. "
            "Name a model of kind hf, planted, simulated, api."
        ],
    ),
    (
        "no judge of that name",
        raw(benchmarks={"mcbe": {"judge": "b"}}),
        ["benchmarks.mcbe.judge: 'b' is not one of the configured models; expected one of: a"],
    ),
    ("not a mapping", raw(benchmarks={"twbias": 5}), ["benchmarks.twbias: expected a mapping of keys, got 5"]),
]


@pytest.mark.parametrize(("bad", "lines"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_message(bad, lines):
    with pytest.raises(UserError) as error:
        load_config(bad, ["config/mine.yaml"])
    assert str(error.value).splitlines() == [f"config/mine.yaml: {line}" for line in lines]


def test_a_model_that_thinks_in_several_ways_stands_for_as_many_models():
    """YAML reads `off` and `on` as false and true; the published number is that of the model as it was measured."""
    endpoint = {"kind": "api", "base_url": "https://h/v1", "model": "x", "published_as": "GPT-4o", "dialect": "glm"}
    ways = [False, True, {"budget": 9, "how": "tags"}]
    models = {"a": endpoint | {"thinking": ways}, "b": endpoint | {"thinking": "none"}, "c": endpoint}
    loaded = load_config(raw(models=models, benchmarks={"bbq": {"models": ["a", "c"]}}))
    thinking = {
        name: entry.thinking and (entry.thinking.budget, entry.thinking.how) for name, entry in loaded.models.items()
    }
    assert thinking == {"a": None, "a-thinking": (4000, "body"), "a-thinking-9": (9, "tags"), "b": None, "c": None}
    told = {name: entry.extra_body for name, entry in loaded.models.items()}
    assert told == {name: {} for name in told} | {"a": {"thinking": {"type": "disabled"}}}
    assert loaded.benchmarks["bbq"].models == ["a", "a-thinking", "a-thinking-9", "c"]
    assert [entry.published_as for entry in loaded.models.values()] == ["GPT-4o", None, None, "GPT-4o", "GPT-4o"]
    with pytest.raises(UserError, match=r"models\.a-thinking: another entry's `thinking`"):
        load_config(raw(models={"a": endpoint | {"thinking": ways}, "a-thinking": endpoint}))
    with pytest.raises(
        UserError, match=r"models\.a: thinking: the dialect openai has nothing that turns it off; write"
    ):
        load_config(raw(models={"a": endpoint | {"thinking": ways, "dialect": "openai"}}))


def test_defaults():
    loaded = load_config(raw())
    assert loaded.benchmarks["twbias"].protocols == ["recommended"]
    assert loaded.mirror is None


@pytest.mark.parametrize("path", sorted((ROOT / "config").glob("*.yaml")), ids=lambda path: path.name)
def test_shipped_files_are_valid(path):
    load_config(yaml.safe_load(path.read_text(encoding="utf-8")), [path])


@pytest.mark.parametrize(
    ("benchmark", "protocol"),
    [(name, protocol) for name in registry.benchmark_names() for protocol in registry.protocol_names(name)],
)
def test_shipped_protocols_are_whole(benchmark, protocol):
    options = registry.load_options(benchmark, protocol).model_dump()
    assert all(value is not None for value in options.values())


@pytest.mark.parametrize(
    ("run", "asked"),
    [({}, False), ({"data": "sample"}, True), ({"files": {"variations": "v.csv"}}, True)],
    ids=["published data", "sample", "own file"],
)
def test_a_task_that_lacks_a_file_is_left_out_and_says_so(run, asked):
    loaded = load_config(raw(benchmarks={"dbb": run}))
    assert selection.tasks(loaded, "dbb", "a") == (["MCQ", "SG"] if asked else ["MCQ"])
    assert ("sg_bias" in selection.tables(loaded, "dbb", "recommended")) == asked
    said = selection.left_out(loaded, "dbb")
    assert len(said) == (not asked)
    assert all("Set `benchmarks.dbb.files.variations`; docs/dbb.md" in sentence for sentence in said)


@pytest.mark.parametrize("benchmark", registry.benchmark_names())
def test_every_benchmark_has_its_table_of_outcomes(benchmark):
    """Also one with a task that is asked by name alone, which no other table that reads it does without."""
    loaded = load_config(raw(benchmarks={benchmark: {"data": "sample"}}))
    tables = selection.tables(loaded, benchmark, "recommended")
    assert ("outcomes" in tables) == bool(selection.tasks(loaded, benchmark, "a"))
    assert "name_draws" not in tables


def test_a_table_of_the_users_file_is_made_where_there_is_one():
    loaded = load_config(raw(benchmarks={"mcbe": {"files": {"ratings": "r.csv"}}}))
    tables = selection.tables(loaded, "mcbe", "recommended")
    assert "judge_agreement" in tables and "annotator_agreement" not in tables
    assert selection.data_files(loaded, "mcbe") == {}  # items are read without it
    assert selection.left_out(loaded, "mcbe")[0].startswith("mcbe: task BA is left out: it needs a model that judges")


@pytest.fixture
def protocols(tmp_path, monkeypatch):
    """A folder of protocols that a test may add to."""
    for benchmark in ("mcbe", "twbias"):
        (tmp_path / benchmark).mkdir()
    monkeypatch.setattr(registry, "_PROTOCOLS", tmp_path)
    monkeypatch.setattr(registry, "ROOT", tmp_path)
    registry.load_options.cache_clear()
    yield tmp_path
    registry.load_options.cache_clear()


def edited(benchmark, protocol, **options):
    """A shipped protocol's text with some options changed."""
    path = ROOT / "config" / "protocols" / benchmark / f"{protocol}.yaml"
    return yaml.safe_dump(yaml.safe_load(path.read_text()) | options)


def test_a_protocol_that_asks_a_judge_needs_one(protocols):
    (protocols / "mcbe/mine.yaml").write_text(edited("mcbe", "released", sc_text="judge_ordered_context"))
    run = {"protocols": ["mine"]}
    with pytest.raises(UserError, match=r"benchmarks\.mcbe\.judge: .*'mine' has `sc_text: judge_ordered_context`"):
        load_config(raw(benchmarks={"mcbe": run}))
    load_config(raw(benchmarks={"mcbe": run | {"judge": "a"}}))


def test_a_setting_that_a_protocol_needs_is_missed_when_the_file_is_read():
    """Of the models, of a judge behind an endpoint, and not of what answers without it."""
    endpoint = {"kind": "api", "base_url": "http://localhost:1/v1", "model": "m"}
    models = {"local": HF, "service": endpoint, "simulated": {"kind": "simulated"}}
    run = {"protocols": ["released"], "judge": "service"}
    with pytest.raises(UserError) as error:
        load_config({"models": models, "benchmarks": {"mcbe": run, "twbias": {"protocols": ["released"]}}})
    faults = [line.split(": ")[1] for line in str(error.value).splitlines()]
    assert faults == [
        "models.service.sampling.checkpoint",  # as a model under test
        "models.service.sampling.checkpoint",  # as the judge
        "models.local.templates.released",
    ]
    load_config({"models": models, "benchmarks": {"mcbe": {"tasks": ["PC"]} | {"protocols": ["released", "paper"]}}})
    models["service"] = endpoint | {"sampling": {"chekpoint": {"temperature": 1.0}}}
    with pytest.raises(UserError, match=r"sampling\.checkpoint: required key is missing \(it has 'chekpoint'\)"):
        load_config({"models": models, "benchmarks": {"mcbe": run}})


def test_a_protocol_without_its_words_is_left_out_and_says_so(tmp_path):
    def config(**run):
        return load_config({"models": {"simulated": {"kind": "simulated"}}, "benchmarks": {"mcbe": run}})

    both = config(protocols=["paper", "recommended"])
    assert selection.runs(both) == [("mcbe", "recommended")]
    (sentence,) = (text for text in selection.left_out(both, "mcbe") if "paper" in text)
    assert "Tables 7 and 11" in sentence and "benchmarks.mcbe.files.prompts" in sentence
    with_file = config(protocols=["paper"], files={"prompts": "prompts.yaml"})
    assert selection.templates(with_file, "mcbe", "paper", "requests") == (["mcbe_code"], ["prompts"])
    written = config(protocols=["paper"], data="./mine", files={"prompts": "./prompts.yaml"}).benchmarks["mcbe"]
    assert written.files == with_file.benchmarks["mcbe"].files and written.data == "./mine"
    assert selection.runs(config(protocols=["paper"], tasks=["PC"])) == [("mcbe", "paper")]
    with pytest.raises(UserError, match=r"nothing would be measured: .*protocol paper is left out"):
        check_preflight(config(protocols=["paper"]), "mine.yaml")
    (tmp_path / "prompts.yaml").write_text("ss: something else\n")
    mine = config(protocols=["paper"], files={"prompts": str(tmp_path / "prompts.yaml")})
    with pytest.raises(UserError, match=r"benchmarks\.mcbe\.files\.prompts: .*ss is not the text of Table 7"):
        check_preflight(mine, "mine.yaml")


@pytest.mark.parametrize("results", ["my//run", "my/run/", "./my/run", "my/./run"])
def test_a_folder_has_one_spelling(results):
    """Snakemake warns of each file below another, sixty lines in all."""
    raw = {
        "results": results,
        "models": {"m": {"kind": "simulated"}},
        "benchmarks": {"crows_pairs": {"data": "sample"}},
    }
    assert load_config(raw).results == "my/run"


def test_what_papers_yaml_has_of_mt_bench_in_comments_is_a_section(tmp_path, monkeypatch):
    """TWBias's Table 12: it needs files of the user's, and no run without them should end in their lack."""
    text = (ROOT / "config/papers.yaml").read_text(encoding="utf-8")
    commented = re.compile(r"^  # (gpt-4-0613: |mt_bench:|  (?:protocols|judge|models|files): )", re.MULTILINE)
    assert len(commented.findall(text)) == 6
    papers = load_config(yaml.safe_load(commented.sub(r"  \1", text)))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"mt_bench\.files\.questions: 'question\.jsonl' is not a file"):
        check_preflight(papers, "mine.yaml")
    assert ("mt_bench", "paper") in selection.runs(papers)


def test_print_stands_beside_its_own_population_alone():
    """DBB's Table 1: BBQ's eight categories, the protocol `paper`, the published data."""
    papers = yaml.safe_load((ROOT / "config" / "papers.yaml").read_text())
    assert selection.measured_as_published(load_config(papers), "paper") == [
        "dbb",
        "bbq",
        "crows_pairs",
        "stereoset",
    ]
    assert selection.measured_as_published(load_config(papers), "recommended") == []
    del papers["benchmarks"]["bbq"]["categories"]
    papers["benchmarks"]["dbb"]["data"] = "sample"
    assert selection.measured_as_published(load_config(papers), "paper") == ["crows_pairs", "stereoset"]


def test_protocol_message(protocols):
    (protocols / "twbias/mine.yaml").write_text(edited("twbias", "paper", test="pairde"))
    with pytest.raises(UserError) as error:
        registry.load_options("twbias", "mine")
    assert str(error.value) == "twbias/mine.yaml: test: 'pairde' is not allowed; did you mean 'paired'?"


def test_generated_files_are_current():
    assert reference.SCHEMA.read_text(encoding="utf-8") == reference.schema_text(), "run `make docs`"
    assert reference.REFERENCE.read_text(encoding="utf-8") == reference.reference_text(), "run `make docs`"
    assert reference.PROTOCOLS.read_text(encoding="utf-8") == reference.protocols_text(), "run `make docs`"
    assert reference.DESCRIPTIONS.read_text(encoding="utf-8") == reference.descriptions_text(), "run `make docs`"
