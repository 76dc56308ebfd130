"""The contract of benchmarks: a name in a spec that nothing bears is one sentence; steps read what they declare."""

import ast
from dataclasses import replace

import pytest

from biasatlas import ROOT
from biasatlas.benchmarks import contract, registry
from biasatlas.benchmarks.contract import Figure, Step, Table
from biasatlas.benchmarks.registry import check_spec
from biasatlas.columns import Factor
from biasatlas.errors import UserError
from biasatlas.resources import Resources
from biasatlas.stages import mark

SPEC = registry.load_spec("crows_pairs")
TASK = SPEC.tasks["pair"]

#: name, the part of a good spec that is replaced, the sentence
BAD = [
    (
        "kind",
        {"tasks": {"pair": replace(TASK, kind="likelihod")}},
        "tasks.pair.kind: 'likelihod' is unknown; did you mean 'likelihood'?",
    ),
    (
        "scores",
        {"tasks": {"pair": replace(TASK, scores=("item_id",))}},
        "tasks.pair.scores: 'status' is unknown; expected one of: item_id",
    ),
    (
        "task",
        {"tables": {"scores": Table("c", ("pare",))}},
        "tables.scores.tasks: 'pare' is unknown; did you mean 'pair'?",
    ),
    (
        "table",
        {"figures": {"f": Figure("c", ("score",))}},
        "figures.f.tables: 'score' is unknown; did you mean 'scores'?",
    ),
    ("language", {"language": "zh-hans"}, "language: 'zh-hans' is unknown; did you mean 'zh-Hans'?"),
    ("source", {"sources": ("crowspairs",)}, "sources: 'crowspairs' is unknown; did you mean 'crows_pairs'?"),
    ("release", {"released": {"bert": "crows"}}, "released.bert: 'crows' is unknown; did you mean 'crows_pairs'?"),
    ("released task", {"released_tasks": ("pairs",)}, "released_tasks: 'pairs' is unknown; did you mean 'pair'?"),
    (
        "factor",
        {"design": {"writer": Factor(("writers",), sampled=True)}},
        "design.writer.scores: 'writers' is unknown; did you mean 'writer'?",
    ),
    (
        "nesting",
        {"design": {"writer": Factor(("writer",), sampled=True), "pair": Factor(("item_id",), within="writers")}},
        "design.pair.within: 'writers' is unknown; did you mean 'writer'?",
    ),
    (
        "what a claim generalises over",
        {"design": {"writer": Factor(("writer",))}},
        "design: no factor is `sampled`; name what its claims generalise over.",
    ),
    (
        "file",
        {"tables": {"own": Table("c", (), file="mine")}},
        "tables.own.file: 'mine' is unknown; expected one of: none",
    ),
    ("step", {"resources": {"score": ()}}, "resources.score: 'score' is unknown; did you mean 'scores'?"),
    (
        "sample",
        {"sample": "crows"},
        "sample: resources/samples/crows/**/* is not a file. Correct its path in spec.py.",
    ),
    (
        "resource",
        {"resources": {"requests": ("prompts/crows_pairs/pairs.txt",)}},
        "requests: resources/prompts/crows_pairs/pairs.txt is not a file. Correct its path in spec.py.",
    ),
    (
        "published",
        {"tables": {"own": Table("c", (), published="crows_pairs_model")}},
        "tables.own.published: 'crows_pairs_model' is unknown; did you mean 'crows_pairs_models'?",
    ),
    (
        "value of an option",
        {"tasks": {"pair": replace(TASK, ordered=("ties", "hlaf"))}, "tables": {}, "figures": {}, "released_tasks": ()},
        "tasks.pair.ordered: 'hlaf' is unknown; did you mean 'half'?",
    ),
    (
        "one text for several",
        {"tables": {"scores": Table("c", "pair")}},
        "tables.scores.tasks: 'pair' is one text; expected a tuple, as ('pair',).",
    ),
    (
        "a category that is no name of a file",
        {"tasks": {"pair": replace(TASK, categories=("race/color",))}},
        "tasks.pair.categories: 'race/color' is part of the names of files: give it one of letters (a to z), digits, '.', '_' "
        "and '-'; in a description, `categories: {race/color: name}`.",
    ),
    (
        "a category that is called like all",
        {"tasks": {"pair": replace(TASK, categories=("Overall",))}},
        "tasks.pair.categories: call 'Overall' otherwise; a row of the tables has that name.",
    ),
    (
        "type of a column",
        {"items": {"item_id": "strng"}},
        "items.item_id: 'strng' is unknown; did you mean 'string'?",
    ),
    ("options", {"options": None}, "`options` is None; expected a class of Options (contract.py)."),
]


@pytest.mark.parametrize(("changes", "sentence"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_a_misspelt_name_in_a_spec_is_one_sentence(changes, sentence):
    with pytest.raises(UserError) as error:
        check_spec("mine", replace(SPEC, **changes), ["crows_pairs", *SPEC.released.values()])
    assert str(error.value) == f"benchmark mine: {sentence}"


@pytest.mark.parametrize("benchmark", registry.benchmark_names())
def test_every_declared_table_figure_and_metric_has_its_function(benchmark):
    spec = registry.load_spec(benchmark)
    assert {*registry.tables(benchmark), "outcomes"} == set(spec.tables)
    assert set(registry.figures(benchmark)) == set(spec.figures)


def test_a_table_that_no_spec_declares_is_one_sentence(monkeypatch):
    monkeypatch.setitem(contract.TABLES, ("crows_pairs", "scroes"), lambda: None)
    with pytest.raises(UserError, match=r"benchmark crows_pairs: table 'scroes' is marked, but not in its spec\."):
        registry.tables("crows_pairs")


def test_a_metric_name_has_one_definition():
    definitions = {}
    for benchmark in registry.benchmark_names():
        for name, metric in registry.load_spec(benchmark).metrics.items():
            assert definitions.setdefault(name, metric) == metric, f"{name} differs in {benchmark}"


#: Function of a step -> marks of the options that it may read.
READS = {
    "build_requests": ("answers",),
    "build_judge_requests": ("answers", "judgements"),
    "score_responses": ("answers", "judgements", "scores"),
}


def functions_behind(path, name):
    """A function of a module, and those of the module that it names, directly or not."""
    functions = {node.name: node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}
    todo, found = [name], {}
    while todo:
        name = todo.pop()
        found[name] = functions[name]
        names = {node.id for node in ast.walk(functions[name]) if isinstance(node, ast.Name)}
        todo += sorted(names & functions.keys() - found.keys())
    return found.values()


@pytest.mark.parametrize("function", READS)
@pytest.mark.parametrize("benchmark", [name for name in registry.benchmark_names() if not registry.description(name)])
def test_a_step_reads_no_option_that_would_not_run_it_again(benchmark, function):
    options = registry.load_spec(benchmark).options
    for module in registry._places(benchmark, function):
        path = ROOT / "scripts" / f"{module.replace('.', '/')}.py"
        for node in (node for each in functions_behind(path, function) for node in ast.walk(each)):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("options", "step.options"):
                assert node.attr in {*options.model_fields, "model_copy"}, f"{path}:{node.lineno}"
                assert mark(options, node.attr) in READS[function], f"{path}:{node.lineno}: {node.attr}"


@pytest.mark.parametrize("benchmark", registry.benchmark_names())
def test_a_function_of_a_step_stands_once_in_its_folder(benchmark):
    for package in registry.packages(benchmark):
        assert registry._defining(package, "score_responses") or registry.description(benchmark)
        for name in (*contract.GIVEN, "PARSERS", "FORMATS", "TEXTS"):
            assert len(registry._defining(package, name)) <= 1, (package, name)


def test_a_step_has_what_it_is_given_and_says_what_it_lacks():
    step = Step("score_responses", spec=SPEC, task="pair", category="age")
    assert (step.task, step.judgements) == ("pair", None)
    with pytest.raises(AttributeError, match=r"step\.published: the step score_responses has none; it has category, "):
        step.published  # noqa: B018
    with pytest.raises(AttributeError):
        step.task = "pair_choice"
    with pytest.raises(TypeError, match="the step bias_roles takes no options; it takes items, requests, task"):
        Step("bias_roles", spec=SPEC, options=None)


def test_a_function_of_one_argument_gets_a_step_by_place_and_by_name():
    function = registry._stepwise(
        "mcbe", "read_items", lambda step: (step.files, step.resources, step.run, step.spec.items)
    )
    assert function({"a": 1}, "r", categories=["x"]) == (
        {"a": 1},
        "r",
        {"categories": ["x"]},
        registry.load_spec("mcbe").items,
    )
    function = registry._stepwise("gest", "table", lambda step: (step.scores, step.options, step.description.title))
    assert function("s", options="o") == ("s", "o", "GEST")


def test_a_file_that_a_job_was_not_given_cannot_be_read():
    resources = Resources.shipped("prompts/crows_pairs/*")
    assert "{A}" in resources.text("prompts/crows_pairs/pair.txt")
    with pytest.raises(KeyError, match=r"resources/published/bbq_figures\.csv is no input of this job"):
        resources.published("bbq_figures")


def test_a_description_under_another_name_has_its_printed_table(tmp_path):
    copy = tmp_path / "mine.yaml"
    copy.write_text((ROOT / "config/benchmarks/gest.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    assert registry.resource_names(str(copy), "tables") == ["published/gest_means.csv"]
