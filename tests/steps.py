"""The steps of every script, for tests of identity; and edits of the library's source."""

import ast
import functools
from collections.abc import Callable, Iterable, Mapping

from biasatlas.benchmarks import registry
from biasatlas.workflow import identity

#: Benchmarks on whose steps edits are tested: those of the demo, and one that a YAML file describes.
BENCHMARKS = ("bbq", "crows_pairs", "dbb", "gest", "mcbe", "stereoset", "twbias")


def _steps() -> dict[str, tuple[str, tuple[str, ...], dict[str, str]]]:
    found: dict[str, tuple[str, tuple[str, ...], dict[str, str]]] = {}
    for name in BENCHMARKS:
        spec = registry.load_spec(name)
        for script in ("read_items", "build_requests", "score_responses", "summarise_outcomes"):
            found[f"{script} {name}"] = script, (name,), {}
        for table in sorted(spec.tables.keys() - {"outcomes"}):
            found[f"summarise_scores {name} {table}"] = "summarise_scores", (name,), {"table": table}
        for figure in sorted(spec.figures):
            found[f"draw_figure {name} {figure}"] = "draw_figure", (name,), {"figure": figure}
    for name in ("mcbe",):
        found[f"judge_responses {name}"] = "judge_responses", (name,), {}
    for name in ("bbq", "crows_pairs"):
        found[f"answer_requests {name} released"] = "answer_requests", (name,), {"kind": "released"}
    for script in ("score_again", "run_experiment", "plan_effects"):
        found[f"{script} bbq"] = script, ("bbq",), {}
    for script in ("compare_models", "analyse_sensitivity", "run_study", "write_report"):
        found[script] = script, BENCHMARKS, {}
    found["start_variations"] = "start_variations", ("dbb",), {}
    for script in (
        *(
            "compare_benchmarks",
            "compare_dbb_bbq",
            "draw_comparison",
            "summarise_models",
            "train_planted",
            "replicate",
        ),
        *("start_construction", "estimate_construction", "construct_step", "collect_construction", "plan"),
    ):
        found[script] = script, (), {}
    return found


#: Name of a step -> its script, its benchmarks, and other names of the job.
STEPS = _steps()


@functools.cache
def source(path: str) -> str:
    """The text of a file below ``scripts/``."""
    return (identity.SCRIPTS / path).read_text(encoding="utf-8")


def digests(edited: Mapping[str, str] | None = None, steps: Iterable[str] = STEPS) -> dict[str, str]:
    """The digest of each step's code."""
    of = identity.library(edited)
    return {name: identity.reach(of, step(name)).digest() for name in steps}


@functools.cache
def step(name: str):
    """What the code of a step of :data:`STEPS` depends on."""
    script, benchmarks, names = STEPS[name]
    return identity.step_of(script, benchmarks, **names)


@functools.cache
def before() -> dict[str, str]:
    """The digests of the library as it is."""
    return digests()


def path_of(module: str) -> str:
    """The file of a module, or of a script, by its name."""
    path = module.replace(".", "/")
    return f"{path}.py" if (identity.SCRIPTS / f"{path}.py").is_file() else f"{path}/__init__.py"


def changed(edited: Mapping[str, str], among: Iterable[str] = STEPS) -> set[str]:
    """The steps ``among`` these whose digest an edit changes."""
    return {name for name, digest in digests(edited, among).items() if before()[name] != digest}


def within(module: str, name: str, edit: Callable[[ast.AST], None]) -> dict[str, str]:
    """The file of a ``module`` with a definition, "function" or "Class.method", edited in the syntax tree."""
    return {path_of(module): edited_text(source(path_of(module)), name, edit)}


def edited_text(text: str, name: str, edit: Callable[[ast.AST], None]) -> str:
    """The source ``text`` with one of its definitions edited."""
    tree = ast.parse(text)
    node: ast.AST = tree
    for part in name.split("."):
        node = next(each for each in ast.iter_child_nodes(node) if part in _names(each))
    edit(node)
    return ast.unparse(ast.fix_missing_locations(tree))


def _names(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}
    return {getattr(node, "name", "")}


def body(statement: str) -> Callable[[ast.AST], None]:
    """Put a ``statement`` at the beginning of a function."""

    def edit(node: ast.AST) -> None:
        node.body.insert(0, ast.parse(statement).body[0])  # type: ignore[attr-defined]

    return edit


def value(expression: str) -> Callable[[ast.AST], None]:
    """Give a constant another value; in ``expression``, ``_`` stands for the present one."""

    def edit(node: ast.AST) -> None:
        new = ast.parse(expression, mode="eval").body

        class Put(ast.NodeTransformer):
            def visit_Name(self, name: ast.Name) -> ast.AST:
                return node.value if name.id == "_" else name  # type: ignore[attr-defined]

        node.value = Put().visit(new)  # type: ignore[attr-defined]

    return edit
