"""Checks of a benchmark's declaration: everything that it names exists."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import get_args

from biasatlas.benchmarks import contract
from biasatlas.benchmarks.contract import LANGUAGES, Options, Spec
from biasatlas.benchmarks.shared.metrics import OUTCOME_METRICS, OUTCOMES_CAPTION
from biasatlas.columns import Type
from biasatlas.errors import UserError
from biasatlas.resources import names
from biasatlas.validation import nearest

#: Names of tasks, tables, figures and categories are parts of paths.
_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
#: Names of table rows that are over all categories.
_OF_ALL = ("all", "overall")


def check_spec(name: str, spec: object, sources: Collection[str]) -> Spec:
    """``spec``, if all that it names exists. Raises UserError for the first that does not, with the nearest name."""
    if not isinstance(spec, Spec):
        raise UserError(f"benchmark {name}: `spec.SPEC` is {type(spec).__name__}; expected a Spec (contract.py).")
    if not (isinstance(spec.options, type) and issubclass(spec.options, Options)):
        raise UserError(f"benchmark {name}: `options` is {spec.options!r}; expected a class of Options (contract.py).")
    for key, value in _several(spec):
        if isinstance(value, str):  # it would be split into its letters
            raise UserError(f"benchmark {name}: {key}: {value!r} is one text; expected a tuple, as ({value!r},).")
    _check_parts_of_paths(name, spec)
    for key, value, known in (*_named(spec, sources), *_needed(spec, sources), *_shown(spec)):
        if value not in known:
            raise UserError(f"benchmark {name}: {key}: {value!r} is unknown{nearest(value, known)}")
    if not any(factor.sampled and factor.scores for factor in spec.design.values()):
        raise UserError(f"benchmark {name}: design: no factor is `sampled`; name what its claims generalise over.")
    files = [("sample", f"samples/{spec.sample}/**/*")] if spec.sample else []
    files += [(step, pattern) for step in spec.resources for pattern in resource_patterns(spec, step)]
    for key, pattern in files:
        if not names([pattern], needed=False):
            raise UserError(f"benchmark {name}: {key}: resources/{pattern} is not a file. Correct its path in spec.py.")
    return _with_replies(name, spec)


def resource_patterns(spec: Spec, step: contract.ReadingStep, task: str = "") -> list[str]:
    """Patterns of the shipped files that a step reads for one ``task``, or for all ("")."""
    patterns = spec.resources.get(step, ())
    if not isinstance(patterns, Mapping):
        return list(patterns)
    return list(dict.fromkeys(pattern for of, some in patterns.items() if task in ("", of) for pattern in some))


def _with_replies(name: str, spec: Spec) -> Spec:
    """``spec`` with the table of outcomes and its metrics, which every benchmark has."""
    outcomes = contract.Table(OUTCOMES_CAPTION, tuple(spec.tasks))
    if spec.tables.get(contract.OUTCOMES, outcomes) != outcomes:
        raise UserError(
            f"benchmark {name}: tables: {contract.OUTCOMES!r} is reserved: every benchmark has this table: rename "
            "yours."
        )
    return replace(
        spec, tables={**spec.tables, contract.OUTCOMES: outcomes}, metrics={**spec.metrics, **OUTCOME_METRICS}
    )


def _several(spec: Spec) -> Iterator[tuple[str, object]]:
    """Each field of ``spec`` that holds several texts: where it is, and what it holds."""
    yield from (("sources", spec.sources), ("released_tasks", spec.released_tasks))
    for step, patterns in spec.resources.items():
        of_tasks = patterns.items() if isinstance(patterns, Mapping) else [("", patterns)]
        yield from ((f"resources.{step}.{task}".rstrip("."), each) for task, each in of_tasks)
    yield from (
        (f"tasks.{name}.{key}", getattr(t, key)) for name, t in spec.tasks.items() for key in ("categories", "scores")
    )
    yield from ((f"tables.{name}.tasks", table.tasks) for name, table in spec.tables.items())
    yield from ((f"figures.{name}.tables", figure.tables) for name, figure in spec.figures.items())


def _check_parts_of_paths(name: str, spec: Spec) -> None:
    """Raise UserError for the first name that cannot be part of a path, or a category."""
    for key, value in _parts_of_paths(spec):
        if not re.fullmatch(_NAME, value):
            named = f"; in a description, `categories: {{{value}: name}}`" if key.endswith("categories") else ""
            raise UserError(
                f"benchmark {name}: {key}: {value!r} is part of the names of files: give it one of letters (a to z), "
                f"digits, '.', '_' and '-'{named}."
            )
        if key.endswith("categories") and value.lower() in _OF_ALL:
            raise UserError(f"benchmark {name}: {key}: call {value!r} otherwise; a row of the tables has that name.")


def _parts_of_paths(spec: Spec) -> Iterator[tuple[str, str]]:
    """Each name in ``spec`` that is part of a file's path: where it is, and the name."""
    for key in ("tasks", "tables", "figures"):
        yield from ((key, name) for name in getattr(spec, key))
    yield from ((f"tasks.{name}.categories", value) for name, task in spec.tasks.items() for value in task.categories)


def _named(spec: Spec, sources: Collection[str]) -> Iterator[tuple[str, str, Collection[str]]]:
    """Each name in ``spec``: where it is, the name, and the names that exist."""
    yield "language", spec.language, LANGUAGES
    types = get_args(Type)
    yield from ((f"items.{column}", kind, types) for column, kind in spec.items.items())
    yield from (("sources", source, sources) for source in spec.sources)
    for step, patterns in spec.resources.items():
        yield f"resources.{step}", step, get_args(contract.ReadingStep)
        yield from ((f"resources.{step}", task, spec.tasks) for task in patterns if isinstance(patterns, Mapping))
    yield from ((f"released.{release}", source, sources) for release, source in spec.released.items())
    yield from (("released_tasks", task, spec.tasks) for task in spec.released_tasks)
    for name, task in spec.tasks.items():
        yield f"tasks.{name}.kind", task.kind, get_args(contract.Kind)
        yield f"tasks.{name}.scores", "status", task.scores
        yield from ((f"tasks.{name}.requests.{column}", kind, types) for column, kind in task.requests.items())
        if task.file:
            yield f"tasks.{name}.file", task.file, spec.files
        if task.ordered:
            option, value = task.ordered
            yield f"tasks.{name}.ordered", option, spec.options.model_fields
            yield f"tasks.{name}.ordered", value, get_args(spec.options.model_fields[option].annotation)
    scored = {column for task in spec.tasks.values() for column in task.scores}
    for name, factor in spec.design.items():
        yield from ((f"design.{name}.scores", column, scored) for column in factor.scores)
        yield from ((f"design.{name}.items", column, {"item_id", *spec.items}) for column in factor.items)
        if factor.within:
            yield f"design.{name}.within", factor.within, set(spec.design) - {name}
    for name, table in spec.tables.items():
        yield from ((f"tables.{name}.tasks", task_name, spec.tasks) for task_name in table.tasks)
        if table.file:
            yield f"tables.{name}.file", table.file, spec.files
        if table.source:
            yield f"tables.{name}.source", table.source, sources
        if table.published:
            yield f"tables.{name}.published", table.published, [Path(path).stem for path in names(["published/*.csv"])]
    for name, figure in spec.figures.items():
        yield from ((f"figures.{name}.tables", table_name, spec.tables) for table_name in figure.tables)


def _needed(spec: Spec, sources: Collection[str]) -> Iterator[tuple[str, str, Collection[str]]]:
    """The names in the requirements of its protocols."""
    for need in spec.requirements:
        yield "requirements.option", need.option, spec.options.model_fields
        yield "requirements.value", need.value, get_args(spec.options.model_fields[need.option].annotation)
        yield from (("requirements.tasks", task_name, spec.tasks) for task_name in need.tasks)
        if need.source:
            yield "requirements.source", need.source, sources
        if need.file:
            yield "requirements.file", need.file, spec.files


def _shown(spec: Spec) -> Iterator[tuple[str, str, Collection[str]]]:
    """The names in its headlines and in how its tasks are shown."""
    for headline in spec.headlines:
        where = f"headlines.{headline.name}"
        yield from ((f"{where}.table", headline.table, spec.tables), (f"{where}.metric", headline.metric, spec.metrics))
        yield from ((f"{where}.by", column, headline.rows) for column in headline.by)
    for name, shown in spec.shown.items():
        yield "shown", name, spec.tasks
        scores = spec.tasks[name].scores if name in spec.tasks else ()
        columns = [shown.score, *filter(None, [shown.minus.removeprefix("log ")]), *shown.key]
        yield from ((f"shown.{name}", column, scores) for column in columns)
        yield from ((f"shown.{name}.texts", column, spec.items) for column in shown.texts)
