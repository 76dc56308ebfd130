"""What makes a result stale: what a script can reach in the library, what its steps see of declarations, shipped files."""

import ast
import random
import re
from collections.abc import Callable

import pytest
import steps

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.visible import SPEC
from biasatlas.stages import StagedModel, field, fields_affecting
from biasatlas.workflow import identity
from biasatlas.workflow.identity import BOUNDARIES

B = "biasatlas.benchmarks"

FILES = sorted(
    path.relative_to(identity.SCRIPTS).as_posix()
    for folder in ("biasatlas", ".")
    for path in (identity.SCRIPTS / folder).glob("*.py" if folder == "." else "**/*.py")
)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def everywhere(*edits: Callable[[ast.Module], None]) -> dict[str, str]:
    """Edits of the syntax of every file, which lays it out otherwise, and of its comments."""
    edited = {}
    for path in FILES:
        tree = ast.parse(steps.source(path))
        for edit in edits:
            if path.startswith("biasatlas/") or edit is not _unused:  # all statements of a script count
                edit(tree)
        edited[path] = f"# edited\n{ast.unparse(ast.fix_missing_locations(tree))}\n# edited\n"
    return edited


def _functions(tree: ast.Module) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, FUNCTIONS)]


def _docstrings(tree: ast.Module) -> None:
    for node in [tree, *ast.walk(tree)]:
        if isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS)):
            had = ast.get_docstring(node) is not None
            node.body[: 1 if had else 0] = [ast.Expr(ast.Constant("Edited."))]


def _annotations(tree: ast.Module) -> None:
    in_classes = {id(each) for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for each in node.body}
    for node in _functions(tree):
        if id(node) in in_classes and node.decorator_list:
            continue  # validators mean theirs
        node.returns = None
        for each in ast.walk(node.args):
            if isinstance(each, ast.arg):
                each.annotation = None


def _unused(tree: ast.Module) -> None:
    tree.body += ast.parse("UNUSED_AND_NEW = {1: 2}\n\ndef unused_and_new(a):\n    return UNUSED_AND_NEW[a]\n").body


def _log_lines(tree: ast.Module) -> None:
    names = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}
    if "logging" not in names:
        place = 1 if ast.get_docstring(tree) is not None else 0
        tree.body[place:place] = ast.parse("import logging").body
    for node in _functions(tree):
        node.body.insert(0, ast.parse('logging.info("%d of %s", len("here"), 2)').body[0])


def _descriptions(tree: ast.Module) -> None:
    """Document each field of the configuration otherwise."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "field":
            for keyword in node.keywords:
                if keyword.arg == "description" and isinstance(keyword.value, ast.Constant):
                    keyword.value = ast.Constant("Edited.")


def _locals(tree: ast.Module) -> None:
    """Rename the variables of functions that hold no other scope."""
    inner = (*FUNCTIONS, ast.Lambda, ast.ClassDef, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    for node in _functions(tree):
        nodes = [each for part in node.body for each in ast.walk(part)]
        if any(isinstance(each, (*inner, ast.Global, ast.Nonlocal)) for each in nodes):
            continue
        parameters = {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
        names = [each for each in nodes if isinstance(each, ast.Name)]
        stored = {each.id for each in names if isinstance(each.ctx, ast.Store)} - parameters
        for each in names:
            if each.id in stored:
                each.id += "_renamed"


def _external_imports(tree: ast.Module) -> None:
    """Give what is imported from elsewhere another name."""
    taken = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load)}
    taken |= {each.arg for each in ast.walk(tree) if isinstance(each, ast.arg)}
    renamed = {}
    for node in tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name
                if "." not in name and name not in {*taken, "logging"}:
                    alias.asname = renamed[name] = f"{name}_renamed"
    for each in ast.walk(tree):
        if isinstance(each, ast.Name):
            each.id = renamed.get(each.id, each.id)


#: Edits of the whole library that change no result.
HARMLESS = {
    "docstrings": _docstrings,
    "annotations": _annotations,
    "unused code": _unused,
    "log lines": _log_lines,
    "descriptions of options": _descriptions,
    "names of local variables": _locals,
    "names of what is imported": _external_imports,
}


def test_what_changes_no_result_in_any_file_changes_no_digest():
    """All such edits at once, which takes the time of one; where a digest changes, the edit that does it is named."""
    changed = steps.changed(everywhere(*HARMLESS.values()))
    for name, edit in HARMLESS.items() if changed else ():
        assert steps.changed(everywhere(edit)) == set(), name
    assert changed == set()


ASSERT = steps.body("assert edited")

#: Definitions that reach no output.
FRAME = [
    ("biasatlas.workflow.job", "job"),
    ("biasatlas.workflow.job", "explain"),
    ("biasatlas.workflow.job", "_title"),
    ("biasatlas.workflow.job", "Job.at"),
    ("biasatlas.workflow.job", "Job.count_run"),
    ("biasatlas.workflow.gpu_lock", "lock_gpus"),
    ("biasatlas.models.scheduling", "answer_batches"),
    ("biasatlas.models.store", "repair"),
    ("biasatlas.engine.choice", "answer_probabilities"),
    ("biasatlas.models.endpoint.answer", "Endpoint.answer"),
    (f"{B}.registry", "benchmark_names"),
    (f"{B}.registry", "has_roles"),
    (f"{B}.checks", "check_spec"),
    (f"{B}.scaffold", "write_page"),
]


@pytest.mark.parametrize(("module", "name"), FRAME, ids=[f"{module}.{name}" for module, name in FRAME])
def test_what_reaches_no_output_changes_no_digest(module, name):
    assert steps.changed(steps.within(module, name, ASSERT)) == set()


ALL = list(steps.BENCHMARKS)


def of(scripts: str, *benchmarks: str) -> set[str]:
    """Steps of some scripts (their names in one text); of some benchmarks, if any are named."""
    chosen = {name for name in steps.STEPS if name.partition(" ")[0] in scripts.split()}
    return {name for name in chosen if not benchmarks or name.partition(" ")[2].partition(" ")[0] in benchmarks}


#: A definition, an edit of it, and the steps whose digests change, exactly.
EDITS: list[tuple[str, str, Callable[[ast.AST], None], set[str]]] = [
    # One step of one benchmark, of described ones too.
    (f"{B}.twbias.items", "read_items", ASSERT, of("read_items", "twbias")),
    (f"{B}.dbb.items", "read_items", ASSERT, of("read_items", "dbb") | {"start_variations"}),
    (f"{B}.twbias.items", "build_requests", ASSERT, of("build_requests", "twbias")),
    (f"{B}.twbias.scores", "score_responses", ASSERT, of("score_responses", "twbias")),
    (f"{B}.mcbe.judge", "build_judge_requests", ASSERT, of("judge_responses")),
    (f"{B}.families.derived", "split_template", ASSERT, of("read_items", "crows_pairs", "gest")),
    (
        f"{B}.families.description",
        "Description.category_names",
        ASSERT,
        of("read_items", "crows_pairs", "gest") | of("draw_figure", "bbq", "crows_pairs", "gest"),
    ),
    (f"{B}.crows_pairs.released", "import_responses", ASSERT, {"answer_requests crows_pairs released"}),
    # What several share.
    ("biasatlas.files", "write_items", ASSERT, of("read_items")),
    ("biasatlas.files", "write_scores", ASSERT, of("score_responses")),
    ("biasatlas.workflow.provenance", "of_scores", ASSERT, of("score_responses")),
    (f"{B}.shared.replies", "answers", ASSERT, of("summarise_outcomes")),
    (f"{B}.registry", "parsers", ASSERT, of("summarise_outcomes")),
    (f"{B}.shared.styles", "styles", ASSERT, of("draw_figure draw_comparison analyse_sensitivity write_report")),
    (f"{B}.shared.estimates", "with_missing_answer_bounds", ASSERT, of("summarise_scores score_again")),
    (
        f"{B}.shared.estimates",
        "make_table",
        ASSERT,
        of(
            "summarise_scores summarise_outcomes score_again plan_effects run_experiment compare_dbb_bbq compare_models "
            "analyse_sensitivity"
        ),
    ),
    # Tables and figures one by one.
    (f"{B}.twbias.tables", "annotator_agreement", ASSERT, {"summarise_scores twbias annotator_agreement"}),
    (f"{B}.twbias.figures", "gender_attributes", ASSERT, {"draw_figure twbias gender_attributes"}),
    # Across benchmarks, studies, training, construction, pages.
    (f"{B}.comparison", "compare_scores", ASSERT, {"compare_benchmarks"}),
    (f"{B}.comparison", "_ROWS", steps.value("_ | {}"), {"compare_benchmarks"}),
    (f"{B}.comparisons.pairs", "pairs_table", ASSERT, {"compare_models"}),
    (f"{B}.dbb.construct", "build", ASSERT, {"construct_step", "estimate_construction"}),
    ("biasatlas.models.planted.corpus", "read_grammar", ASSERT, {"train_planted"}),
    ("biasatlas.simulation.ground_truth", "_pairs", ASSERT, {"run_experiment bbq"}),
    (f"{B}.mcbe.spec", "_BETTER", steps.value("_ + '.'"), {"write_report"}),
    ("biasatlas.report.site", "Site.write", ASSERT, {"write_report"}),
    ("biasatlas.report.run", "Study.is_demonstration", ASSERT, {"write_report"}),  # which templates alone name
    ("biasatlas.report.replication", "replication_report", ASSERT, {"replicate"}),
]


@pytest.mark.parametrize(
    ("module", "name", "edit", "expected"), EDITS, ids=[f"{module}.{name}" for module, name, *_ in EDITS]
)
def test_an_edit_changes_the_steps_that_reach_it(module, name, edit, expected):
    assert steps.changed(steps.within(module, name, edit)) == expected


def _reached() -> dict[tuple[str, str], set[str]]:
    """(module, name) of each function at the top of a module -> the steps that reach it."""
    found: dict[tuple[str, str], set[str]] = {}
    library = identity.library()
    for name in steps.STEPS:
        for definition in identity.reach(library, steps.step(name)).forms:
            if definition.module and not definition.method:
                found.setdefault((definition.module, definition.name), set()).add(name)
    return found


def test_a_changed_return_changes_each_step_that_reaches_it():
    """In fifty functions at random."""
    functions = {}
    for (module, name), of_steps in sorted(_reached().items()):
        nodes = identity.library().module(module).bound.get(name, ())
        if any(
            isinstance(node, FUNCTIONS) and any(isinstance(each, ast.Return) and each.value for each in ast.walk(node))
            for node in nodes
        ):
            functions[module, name] = of_steps
    for module, name in random.Random(29).sample(sorted(functions), 50):

        def edit(node):
            last = [each for each in ast.walk(node) if isinstance(each, ast.Return) and each.value][-1]
            last.value = ast.Tuple([last.value], ast.Load())

        reached = functions[module, name]
        assert steps.changed(steps.within(module, name, edit), reached) == reached, (module, name)


def _renamed(path: str, old: str, new: str) -> str:
    """The text of a file where the names, attributes and imports ``old`` are ``new``."""
    tree = ast.parse(steps.source(path))
    for node in ast.walk(tree):
        for key in ("id", "attr", "name"):
            if getattr(node, key, None) == old:
                setattr(node, key, new)
    return ast.unparse(tree)


def test_a_private_function_has_any_name():
    """In ten modules at random, all at once; where a digest changes, the module is named."""
    private = {}
    for module, name in sorted(_reached()):
        nodes = identity.library().module(module).bound.get(name, ())
        if name.startswith("_") and not name.startswith("__") and all(isinstance(node, FUNCTIONS) for node in nodes):
            private.setdefault(module, name)
    edits = {}
    for module in random.Random(29).sample(sorted(private), 10):
        path = steps.path_of(module)
        edits[path] = _renamed(path, private[module], "_another_name")
    changed = steps.changed(edits)
    for path, text in edits.items() if changed else ():
        assert steps.changed({path: text}) == set(), path
    assert changed == set()


def test_a_function_may_move_and_be_exported_again():
    module, name = "biasatlas.stats.intervals", "student"
    path = steps.path_of(module)
    tree = ast.parse(steps.source(path))
    moved = [node for node in tree.body if isinstance(node, FUNCTIONS) and node.name == name]
    names = [each for node in tree.body for each in steps._names(node) if each]
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    others = ast.parse(f"from {module} import {', '.join(each for each in names if each not in ('', name))}").body
    tree.body = [each for each in tree.body if each not in moved]
    tree.body[1:1] = ast.parse(f"from biasatlas.stats.moved import {name}").body
    edited = {
        path: ast.unparse(tree),
        "biasatlas/stats/moved.py": ast.unparse(ast.Module([*imports, *others, *moved], [])),
    }
    assert steps.changed(edited) == set()


def test_an_import_may_stand_in_a_function():
    path = "score_responses.py"
    text = steps.source(path)
    line = "from biasatlas.workflow import provenance\n"
    assert line in text
    edited = text.replace(line, "").replace(
        "    origin = ", "    from biasatlas.workflow import provenance as p\n\n    origin = "
    )
    assert (
        steps.changed(
            {path: edited.replace("provenance.of_scores", "p.of_scores").replace("provenance.write", "p.write")}
        )
        == set()
    )


def test_each_name_of_the_library_is_there():
    """What a script, or what it reaches, imports from the library: a misspelled name fails here, and not in a job."""
    library = identity.library()
    assert {
        name: unknown for name in steps.STEPS if (unknown := identity.reach(library, steps.step(name)).unknown)
    } == {}


def test_each_boundary_is_there():
    library = identity.library()
    for name in BOUNDARIES:
        definition, module, rest = library.resolve(name)
        # Under the name of where it is defined: re-exports are followed before a boundary is looked up.
        assert module == name or f"{definition.module}.{definition.name}" == ".".join(
            name.split(".")[: -len(rest) or None]
        ), name
        if rest:
            assert rest[0] in library.module(definition.module).methods(definition.name), name


def test_steps_are_scripts_and_see_what_is_declared():
    for script, names in identity.STEPS.items():
        assert (identity.SCRIPTS / f"{script}.py").is_file()
        assert set(names) <= SPEC.keys()
    for step in SPEC:
        for benchmark in steps.BENCHMARKS:
            registry.visible(benchmark, step)


def test_a_step_sees_of_its_declaration_what_is_in_its_identity():
    view = registry.spec_view("mcbe", "score_responses", task="BA")
    assert list(view.tasks) == ["BA"]
    assert view.tasks["BA"].scores == registry.load_spec("mcbe").tasks["BA"].scores
    with pytest.raises(
        AttributeError, match=r"Spec\.language: the step score_responses does not see it; it sees tasks"
    ):
        view.language  # noqa: B018
    with pytest.raises(AttributeError, match=r"Task\.requests: the step score_responses does not see it"):
        view.tasks["BA"].requests  # noqa: B018
    assert "task" not in str(registry.visible("mcbe", "read_items"))


@pytest.mark.parametrize(
    ("name", "text", "same", "other"),
    [
        ("a.yaml", "a: 1\nb: [x, y]\n", "# note\na:   1\nb:\n- x\n- y\n", "a: 2\nb: [x, y]\n"),
        ("a.json", '{"a": [1, 2]}', '{\n "a": [1,\n 2]\n}\n', '{"a": [2, 1]}'),
        ("a.csv", "a,b\n1,3.5\n", "a,b\r\n\r\n1,3.5\r\n\r\n", "a,b\n1,3.50\n"),
        ("a.txt", "Answer:", "Answer:\n\n", "Answer."),
    ],
)
def test_a_shipped_file_counts_by_what_it_says(tmp_path, name, text, same, other):
    digests = []
    for content in (text, same, other):
        (tmp_path / name).write_text(content, newline="")
        digests.append(identity.digest_of([str(tmp_path / name)]))
    assert digests[0] == digests[1] != digests[2]


def test_bytes_that_are_no_text_count_as_they_are(tmp_path):
    digests = set()
    for content in (b"\xff\xfe\x00", b"\xff\xfe\x01"):
        (tmp_path / "a.csv").write_bytes(content)
        digests.add(identity.digest_of([str(tmp_path / "a.csv")]))
    assert len(digests) == 2


class Section(StagedModel):
    slow: int = field("nothing", 1)
    seed: float = field("answers", 1)
    alpha: dict[str, float] = field("tables", {})
    ties: str = field("scores", "half")


def test_params_follow_from_the_marks():
    section = Section(alpha={"b": 1, "a": 2})
    assert fields_affecting(section, "answers") == {"seed": 1.0}
    assert list(fields_affecting(section, "scores")) == ["seed", "ties"]
    assert repr(fields_affecting(section, "tables")) == "{'alpha': {'a': 2.0, 'b': 1.0}, 'seed': 1.0, 'ties': 'half'}"
    assert repr(fields_affecting(Section(seed=1.0), "tables")) == repr(fields_affecting(Section(seed=1), "tables"))


def test_a_field_without_a_mark_is_refused():
    with pytest.raises(TypeError, match=r"Careless\.seed: mark it with one of answers, judgements, scores, tables"):

        class Careless(StagedModel):
            seed: int = 1


#: What only planning runs.
PLANNING = {"biasatlas/benchmarks/visible.py"}


def test_another_choice_of_an_option_reruns_what_goes_through_all_choices():
    path = steps.path_of(registry.load_spec("bbq").options.__module__)
    text = steps.source(path)
    edited = re.sub(r"Literal\[", 'Literal["another", ', text)
    assert edited != text
    assert steps.changed({path: edited}) >= {"score_again bbq"}
    assert steps.changed({path: edited}, of("score_responses summarise_scores draw_figure")) == set()


def test_no_code_asks_for_the_class_of_an_option_by_itself():
    """But through `declaration`, which the boundaries know."""
    found = {
        path
        for path in FILES
        for node in ast.walk(ast.parse(steps.source(path)))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Call)
        if isinstance(node.value.func, ast.Name) and node.value.func.id == "type"
        if node.attr in ("model_fields", "__annotations__")
    }
    assert found <= {"biasatlas/stages.py", *PLANNING}


#: What finds code by names that are made when it runs, and where it may: planning, and kinds of model told by versions.
DYNAMIC = {
    "biasatlas/benchmarks/registry.py",
    "biasatlas/models/kinds.py",
    "biasatlas/models/entry.py",
    "biasatlas/workflow/reach.py",
}


def test_no_code_is_found_by_names_made_when_it_runs():
    """Nobody could tell what it reaches."""
    found = set()
    for path in FILES:
        for node in ast.walk(ast.parse(steps.source(path))):
            name = getattr(node, "id", getattr(node, "attr", ""))
            star = isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)
            built_in = isinstance(node, ast.Name) and name in {"eval", "exec", "globals", "__import__"}
            if name in {"import_module", "__import__"} or built_in or star:
                found.add(path)
    assert found <= DYNAMIC


def test_a_function_that_is_chosen_by_a_variable_is_refused():
    path = "biasatlas/benchmarks/registry.py"
    text = steps.source(path).replace('_defined(benchmark, "read_items")', "_defined(benchmark, step)")
    assert text != steps.source(path)
    with pytest.raises(ValueError, match="as a literal"):
        steps.digests({path: text}, ["read_items twbias"])
