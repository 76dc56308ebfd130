"""How far a number moves with choices of the analysis: the same responses, scored under every combination of them."""

import itertools
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, get_args

import numpy as np
import pandas as pd

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.contract import Multiverse, Options
from biasatlas.benchmarks.shared.estimates import Estimate, make_table, row, with_missing_answer_bounds
from biasatlas.resources import Resources
from biasatlas.stages import declaration, mark

KEYS = ("model", "benchmark", "measure", "part", "specification")
SENSITIVITY_KEYS = ("model", "benchmark", "measure", "part", "option")

#: The specification of the protocol itself.
AS_STATED = "protocol"

#: Options beside the protocol's own: which other protocol asked, and how unparsed answers count.
PROTOCOL, UNREAD = "other protocol", "unparsed"
_SIDES = {"least biased": "lower_bound", "most biased": "upper_bound"}

#: Returns the scores of a task under some options.
Score = Callable[[str, Options], pd.DataFrame]


def multiverse_table(
    benchmark: str, name: str, score: Score, options: Options, resources: Resources, tasks: tuple[str, ...]
) -> pd.DataFrame:
    """The rows of a benchmark's :class:`Multiverse` under every combination of the options that each crosses.

    ``score`` gives one model's scores of a task; ``tasks`` are those it answered; ``name`` is the benchmark's in the
    run. ``specification`` is "option=value, ..."; the protocol's own has "protocol: " in front. ``measure`` is the
    metric's name. Under the protocol's own options there are further rows: one for each form alone, and bounds for what
    could not be parsed ("unparsed=least biased", "unparsed=most biased"; without an interval), which limit what any
    other parser of the same replies could give.
    """
    scored: dict[tuple, pd.DataFrame] = {}
    rows: list[dict] = []
    section = declaration(options)
    of_scores = [option for option in section.model_fields if mark(section, option) == "scores"]
    for multiverse in registry.multiverses(benchmark):
        if not set(multiverse.tasks) <= set(tasks):
            continue
        make = partial(_made, benchmark, multiverse, resources)
        for changed, said in _specifications(multiverse, options):
            key = (multiverse.tasks, *(getattr(changed, option) for option in of_scores))
            if key not in scored:
                scored[key] = pd.concat([score(task, changed) for task in multiverse.tasks], ignore_index=True)
            if said.startswith(AS_STATED):
                rows += _as_stated(multiverse, partial(make, changed), scored[key], said, name)
            else:
                rows += [_row(name, multiverse, said, one) for one in make(changed, scored[key]).to_dict("records")]
    return make_table(KEYS, rows)


def _made(
    benchmark: str, multiverse: Multiverse, resources: Resources, options: Options, scores: pd.DataFrame
) -> pd.DataFrame:
    """The row of a ``multiverse``, for each model in ``scores``, as a table."""
    table = registry.tables(benchmark)[multiverse.table](scores, options, resources.published, {})
    table = table[table["metric"] == multiverse.metric]
    for column, value in multiverse.rows.items():
        table = table[table[column] == value]
    return table.reset_index(drop=True)


def _as_stated(
    multiverse: Multiverse, make: Callable[[pd.DataFrame], pd.DataFrame], scores: pd.DataFrame, said: str, name: str
) -> list[dict[str, object]]:
    """The protocol's own row, its bounds for missing answers, and the row for each form alone."""
    rows = []
    for one in with_missing_answer_bounds(make, scores).to_dict("records"):
        rows.append(_row(name, multiverse, said, one))
        for side, column in _SIDES.items():
            if np.isfinite(one[column]):
                bare = {"model": one["model"], "value": one[column], "n": one["n"]}
                rows.append(_row(name, multiverse, f"{UNREAD}={side}", bare))
    for form, part in scores.groupby(multiverse.forms, sort=False) if multiverse.forms else []:
        rows += [_row(name, multiverse, f"{multiverse.forms}={form}", one) for one in make(part).to_dict("records")]
    return rows


def _row(name: str, multiverse: Multiverse, said: str, one: Mapping[str, Any]) -> dict[str, object]:
    """A row of a table (or its model, value and n) as that of a specification."""
    keys = dict(zip(KEYS, (one["model"], name, multiverse.metric, multiverse.part, said), strict=True))
    numbers = {column: one[column] for column in ("value", "ci_low", "ci_high", "n", "n_clusters") if column in one}
    return row(keys, "value", Estimate(**numbers, no_interval_reason=one.get("no_interval_reason") or ""))


def with_protocols(universe: pd.DataFrame, others: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """A protocol's :func:`multiverse_table`, with the same numbers under the ``others``, by name.

    They ask differently (prompt, template, boundary, parser), so their numbers come from responses of their own.
    """
    ours = pd.MultiIndex.from_frame(universe[list(KEYS[:-1])])
    parts = [universe]
    for name, other in others.items():
        stated = other[other["specification"].str.startswith(AS_STATED)]
        stated = stated[pd.MultiIndex.from_frame(stated[list(KEYS[:-1])]).isin(ours)]
        parts.append(stated.assign(specification=f"{PROTOCOL}={name}"))
    return pd.concat(parts, ignore_index=True)


def _specifications(multiverse: Multiverse, options: Options) -> list[tuple[Options, str]]:
    """Every combination of the crossed options, and its specification; the protocol's own comes first."""
    values = [get_args(declaration(options).model_fields[name].annotation) for name in multiverse.options]
    own = tuple(getattr(options, name) for name in multiverse.options)
    chosen = [own, *(combination for combination in itertools.product(*values) if combination != own)]
    made = []
    for combination in chosen:
        changes = dict(zip(multiverse.options, combination, strict=True))
        said = ", ".join(f"{name}={value}" for name, value in changes.items())
        made.append((options.model_copy(update=changes), f"{AS_STATED}: {said}" if combination == own else said))
    return made


def sensitivity_table(universe: pd.DataFrame, neutral: Mapping[tuple[str, str], float | None]) -> pd.DataFrame:
    """What in a :func:`multiverse_table` holds whatever the choice, and which choice moves the number most.

    ``option`` "any": ``specifications`` counts those with a value (published outputs lack what some need);
    ``same_side`` is the percentage of them on the protocol's side of neutral, ``same_interval`` the percentage that
    agrees with it on whether the interval excludes neutral (one without an interval does not). A row for each option:
    ``moves``, the range of the number over its values, averaged over all other choices; the largest first. ``neutral``
    is by (benchmark, measure); without one there is no side.
    """
    rows = []
    for key, part in universe[universe["value"].notna()].groupby(list(SENSITIVITY_KEYS[:-1]), sort=False):
        keys = dict(zip(SENSITIVITY_KEYS[:-1], key, strict=True))
        own = part["specification"].str.startswith(AS_STATED)
        numbers: dict[str, float] = {"specifications": len(part)}
        null = neutral.get((key[1], key[2]))
        if null is not None and own.any():
            sign = np.sign(part["value"] - null)
            beyond = ((part["ci_low"] > null) | (part["ci_high"] < null)).where(part["ci_low"].notna())
            numbers["same_side"] = 100 * (sign == sign[own].iloc[0]).mean()
            stated = beyond[own].iloc[0]
            if not pd.isna(stated):
                told = ~part["specification"].str.startswith(UNREAD)  # bounds never have an interval
                numbers["same_interval"] = 100 * (beyond == stated)[told].mean()
        moves = sorted(_moves(part).items(), key=lambda item: -item[1])
        counted = [("any", name, value) for name, value in numbers.items()]
        counted += [(name, "moves", value) for name, value in moves]
        n = len(part)
        rows += [row(keys | {"option": option}, name, Estimate(value, n=n)) for option, name, value in counted]
    return make_table(SENSITIVITY_KEYS, rows)


def _moves(part: pd.DataFrame) -> dict[str, float]:
    """Option -> the mean range of the number over its values, all other choices being equal."""
    own = part["specification"].str.startswith(AS_STATED)
    said = part["specification"].str.removeprefix(f"{AS_STATED}: ").str.split(", ")
    chosen = pd.DataFrame([dict(choice.split("=") for choice in one) for one in said], index=part.index)
    # A specification has the protocol's values of options that it does not name.
    chosen = chosen.fillna(chosen[own].iloc[0].to_dict() if own.any() else {}).fillna("")
    ranges: dict[str, Any] = {}
    for option in chosen:
        others = [chosen[name] for name in chosen if name != option]
        values = part["value"].groupby(others or [pd.Series("", part.index)])
        several = values.count() > 1
        if several.any():
            ranges[str(option)] = float((values.max() - values.min())[several].mean())
    return ranges
