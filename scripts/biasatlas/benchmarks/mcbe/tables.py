"""McBE's tables of models' scores: by category and task, their means, by size, and whether models differ.

Intervals are over templates, the sentences of the data, some of which repeat: they say how far a value would move with
other sentences of the same subcategories. An item's score is the mean over its repeats. A cell is one model in one
category of one task. Tables of the data, of agreement and of the paper's own statistics are in
:mod:`biasatlas.benchmarks.mcbe.quality`.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import Step, metric, table
from biasatlas.benchmarks.mcbe import CATEGORIES, CATEGORY_NAMES, DESIGN, TASKS, family_and_size
from biasatlas.benchmarks.mcbe.quality import friedman_test, mean_ranks, nemenyi, published_scores
from biasatlas.benchmarks.mcbe.scores import SS_DECAY
from biasatlas.benchmarks.mcbe.spec import McBEOptions
from biasatlas.benchmarks.shared.estimates import Counts, Estimate, make_table, mean_of_means, percentage, row
from biasatlas.benchmarks.shared.evidence import Evidence, items_of
from biasatlas.columns import TABLE_COLUMNS
from biasatlas.stats.clusters import proportion, ratio
from biasatlas.stats.replicates import ratio_replicates

#: What intervals are over: sentences, of which the data repeat some.
(TEMPLATE,) = DESIGN["template"].scores

#: Sum of the weights of BA's criteria (Table 5): 3.5 + 1.5 + 2.5 + 0.5.
WEIGHTS = 8.0

#: (model, category, task)
Key = tuple[str, str, str]
_METRICS = {"McBE": "mean_score", "CBBQ": "cbbq_bias"}
_COIN_DRAWS = 20_000


@table("scores")
def scores_table(step: Step[McBEOptions]) -> pd.DataFrame:
    """Figures 10 and 11: the score of every model, category and task, and what stands behind it.

    ``n`` counts items, in the rows of rates item by repeat. SS has three more rows: the share of answers A, and what a
    coin and a fixed ranking of the words score on the same lists under the same protocol: always A scores 100. BA is
    from 0 to 100 as published, also under equation 5, whose weighted mean ends at 12.5.
    """
    printed = step.published("mcbe_scores").set_index(["category", "task", "model"])
    rows = []
    for key, cell, items in cells(on_one_scale(step.scores, step.options)):
        model, category, task = key
        keys = {"model": model, "category": category, "task": task}
        in_print = published_key(key, step.published_as)
        numbers = printed.loc[in_print] if in_print in printed.index else {}
        counts = not_scored(cell, items)
        spread = Estimate(sd_over_repeats(cell), n=len(items), no_interval_reason="a spread of few repeats")
        rows.append(row(keys, "score", score(items, task), counts, numbers.get("score")))
        rows.append(row(keys, "sd_over_repeats", spread, counts, numbers.get("std")))
        if task != "PC":  # it asks nothing in words
            rows += [row(keys, name, estimate) for name, estimate in rates(cell).items()]
        if task == "SS":
            rows += [row(keys, name, estimate) for name, estimate in _references(cell, step.options)]
    return make_table(("model", "category", "task"), rows)


@metric("score")
def score(items: pd.Series, task: str) -> Estimate:
    """Mean of the items' scores, 0 to 100 (BS as released may fall below), as Figures 10 and 11 have it.

    SC is a rate of right answers (or the mean of their probabilities), and has the interval of one.
    """
    if task == "SC":
        return percentage(items / 100, items.index.get_level_values(TEMPLATE).to_series(items.index))
    return mean_of([items])


@metric("sd_over_repeats")
def sd_over_repeats(cell: pd.DataFrame) -> float:
    """Sample standard deviation of the scores of repeated runs, in points; missing for a single run.

    The paper's ±, whose printed values repeat between models and are no tolerance.
    """
    runs = cell.groupby("repeat")["score"].mean()
    return runs.std(ddof=1) if len(runs) > 1 else np.nan


@metric("refusal_rate", "ambiguous_rate", "unparseable_rate", "unresolved_rate")
def rates(cell: pd.DataFrame) -> dict[str, Estimate]:
    """Percentage (0 to 100) of the answers that refuse, that could not be read, or that were not resolved.

    The mean over items and repeats, each with the share of its own answers (or of their probability); ``n`` counts
    them. An item without an answer is not in it: its requests failed, or it was asked nothing, as in SS a list of one
    word that scores 100.
    """
    columns = {
        "refusal_rate": "refused",
        "ambiguous_rate": "ambiguous",
        "unparseable_rate": "unparseable",
        "unresolved_rate": "unresolved",
    }
    return {name: percentage(cell[column], cell[TEMPLATE]) for name, column in columns.items()}


def _references(cell: pd.DataFrame, options: McBEOptions) -> Iterator[tuple[str, Estimate]]:
    """What an SS score has to be seen against, by metric."""
    yield "a_share", a_share(cell)
    lists = cell.dropna(subset="score").drop_duplicates("item_id")["words"].astype(int)
    for name, reference in (("coin_flip_score", coin_flip), ("fixed_ranking_score", fixed_ranking)):
        values = [reference(count, options) for count in lists]
        yield name, Estimate(np.mean(values) if values else np.nan, n=len(values))


@metric("a_share")
def a_share(cell: pd.DataFrame) -> Estimate:
    """Share (0 to 1) of answers A among A and B in SS, mean over items; both orders of every pair are asked."""
    shares = cell.groupby([TEMPLATE, "item_id"])["a_share"].mean().dropna()
    return Estimate.of(proportion(shares, np.ones(len(shares)), shares.index.get_level_values(TEMPLATE)), len(shares))


@metric("coin_flip_score")
def coin_flip(words: int, options: McBEOptions) -> float:
    """The SS score expected of answers by coin on a list of ``words``; 100 where probabilities are taken."""
    if options.answers == "exact":
        return 100.0
    return _coin_flip(words, SS_DECAY[options.ss_decay])


@cache
def _coin_flip(words: int, decay: float) -> float:
    rng = np.random.default_rng(0)
    counts = np.zeros((_COIN_DRAWS, words))
    for first, second in itertools.combinations(range(words), 2):
        wins = rng.binomial(2, 0.5, _COIN_DRAWS)
        counts[:, first] += wins
        counts[:, second] += 2 - wins
    return float(100 * np.exp(-decay * counts.var(axis=1)).mean())


@metric("fixed_ranking_score")
def fixed_ranking(words: int, options: McBEOptions) -> float:
    """The SS score of a model that prefers by one ranking of ``words`` in either order: counts 0, 2 ... 2(k - 1)."""
    return float(100 * np.exp(-SS_DECAY[options.ss_decay] * (words**2 - 1) / 3))


@table("category_means")
def category_means(step: Step[McBEOptions]) -> pd.DataFrame:
    """Figure 6: mean over tasks, by category: those a model has ("available"), and those all of them have ("common").

    Models behind an API have no PC, where others score 80 to 96, so their available means are not comparable.
    ``published`` is the mean of the printed scores of the same tasks, where all are printed. ``n`` counts item scores.
    """
    return _means(step, on_one_scale(step.scores, step.options), over="task", by="category")


@table("task_means")
def task_means(step: Step[McBEOptions]) -> pd.DataFrame:
    """Figure 8: mean over categories (each counts the same), by task; over available and over common categories."""
    return _means(step, on_one_scale(step.scores, step.options), over="category", by="task")


@table("sizes")
def sizes(step: Step[McBEOptions]) -> pd.DataFrame:
    """Figure 7: mean over tasks, by category, of the models of one family, by size in billions of parameters.

    Over the tasks that all of the family have. Family and size are read from the published name, or the model's own
    ("Qwen2.5-7B-Instruct"); a family needs two sizes. No such family: no rows.
    """
    return _by_size(step, over="task", by="category")


@table("task_sizes")
def task_sizes(step: Step[McBEOptions]) -> pd.DataFrame:
    """Section 5.2: mean over categories, by task, of the models of one family, by size; as :func:`sizes`."""
    return _by_size(step, over="category", by="task")


def _by_size(step: Step[McBEOptions], over: str, by: str) -> pd.DataFrame:
    scores = on_one_scale(step.scores, step.options)
    columns = ["family", "size_billion", "model", by, {"task": "tasks", "category": "categories"}[over]]
    models = scores["model"].drop_duplicates().tolist()
    found = {model: family_and_size(step.published_as.get(model, model)) for model in models}
    sized = {model: family for model, family in found.items() if family}
    parts = []
    for name in dict.fromkeys(family for family, _ in sized.values()):
        members = {model: size for model, (family, size) in sized.items() if family == name}
        if len(set(members.values())) > 1:
            means = _means(step, scores[scores["model"].isin(members)], over, by)
            means = means[means["average"] == "common"].drop(columns="average")
            parts.append(means.assign(family=name, size_billion=means["model"].map(members)))
    if not parts:
        return make_table(columns, [])
    table = pd.concat(parts).sort_values(["family", by, "size_billion"], kind="stable", ignore_index=True)
    return table[[*columns, *TABLE_COLUMNS]]


def _means(step: Step[McBEOptions], scores: pd.DataFrame, over: str, by: str) -> pd.DataFrame:
    """Means over the tasks of a category, or over the categories of a task: a row per model, group and average."""
    listed = {"task": "tasks", "category": "categories"}[over]
    printed = published_scores(step.published)
    parts = {}
    for key, cell, items in cells(scores):
        model, category, task = key
        names = {"category": category, "task": task}
        number = printed.get(published_key(key, step.published_as), np.nan)
        parts[model, names[by], names[over]] = items, not_scored(cell, items), number

    rows = []
    for model, group, average, names in _averages(list(parts), CATEGORIES if by == "category" else TASKS):
        items, counts, numbers = zip(*(parts[model, group, name] for name in names), strict=True)
        keys = {"model": model, by: group, "average": average, listed: " ".join(names)}
        in_print = f"{np.mean(numbers):.2f}" if np.isfinite(numbers).all() else None
        unparsed = pd.Series([part.unparsed for part in counts], dtype=float).mean()  # of the tasks asked in words
        together = replace(sum(counts, Counts()), unparsed=float(unparsed))
        rows.append(row(keys, "mean_score", mean_of(items), together, in_print))
    return make_table(("model", by, "average", listed), rows)


def _averages(keys: list[tuple[str, str, str]], groups: Sequence[str]) -> Iterator[tuple[str, str, str, list[str]]]:
    """(model, group, average, names of what it is over) from the (model, group, name) that there are.

    "available" is over all that the model has, "common" over those that all models with the group have; one over none
    is left out.
    """
    models = list(dict.fromkeys(model for model, _, _ in keys))
    there = set(keys)
    asked = {group: {model for model, of_group, _ in keys if of_group == group} for group in groups}
    for model, group in itertools.product(models, groups):
        available = [name for of_model, of_group, name in keys if (of_model, of_group) == (model, group)]
        common = [name for name in available if all((other, group, name) in there for other in asked[group])]
        for average, names in (("available", available), ("common", common)):
            if names:
                yield model, group, average, names


@table("sizes_elsewhere")
@metric("cbbq_bias")
def sizes_elsewhere(step: Step[McBEOptions]) -> pd.DataFrame:
    """Section 5.2: whether bias rises with size, by McBE's SS (lower: more) and by CBBQ's scores (higher: more).

    A row for each printed number, ours beside it where that model is measured, and one for every other measured model
    whose name says its size. CBBQ's are of its own paper; of RuBia the text says that it finds the same, without
    numbers.
    """
    printed = step.published("mcbe_sizes_elsewhere").dropna(subset="value")
    parts: dict[str, list[pd.Series]] = {}
    for (model, _, task), _, items in cells(step.scores):
        if task == "SS":
            parts.setdefault(step.published_as.get(model, model), []).append(items)
    rows = []
    for number in printed.to_dict("records"):
        found = parts.pop(number["model"], []) if number["benchmark"] == "McBE" else []
        estimate = mean_of(found) if found else Estimate(np.nan, no_interval_reason="not measured")
        keys = {name: number[name] for name in ("benchmark", "model", "size", "measure")}
        rows.append(row(keys, _METRICS[number["benchmark"]], estimate, published=number["value"]))
    for model, found in parts.items():
        if sized := family_and_size(model):
            keys = {"benchmark": "McBE", "model": model, "size": f"{sized[1]:g}B", "measure": "SS"}
            rows.append(row(keys, "mean_score", mean_of(found)))
    return make_table(("benchmark", "model", "size", "measure"), rows)


@table("friedman")
def friedman(step: Step[McBEOptions]) -> pd.DataFrame:
    """Friedman's test over models, and Nemenyi's comparison of every pair, under two interpretations of the blocks.

    ``blocks``: "category means", over the tasks that a model has, a block per category (the interpretation nearest to
    the paper's 84.27); "category-by-task cells", a block per cell that all models have. Cells of one category share
    their instances, so the second overstates its evidence. ``n`` counts blocks, the columns of what has no value items
    by model and task.
    """
    scored = cells(on_one_scale(step.scores, step.options))
    found = {key: (items.mean(), not_scored(cell, items)) for key, cell, items in scored}
    means = (
        pd.Series({key: mean for key, (mean, _) in found.items()}, dtype=float)
        .rename_axis(["model", "category", "task"])
        .unstack("model")
    )
    counts = sum((counts for _, counts in found.values()), Counts())
    estimates = {
        "category means": means.groupby(level="category", sort=False).mean().dropna(),
        "category-by-task cells": means.dropna(),
    }
    rows = itertools.chain.from_iterable(_rows(name, blocks, counts) for name, blocks in estimates.items())
    return make_table(("blocks", "model", "other_model"), rows)


def _rows(name: str, blocks: pd.DataFrame, counts: Counts) -> Iterator[dict]:
    """Rows of the interpretation ``name``, of ``blocks`` (blocks, models); ``counts`` are of items without a score."""
    keys = {"blocks": name, "model": None, "other_model": None}
    n = len(blocks)
    for name, value in zip(("friedman_chi_square", "friedman_p"), friedman_test(blocks), strict=True):
        yield row(keys, name, Estimate(value, n=n), counts)
    for model, rank in mean_ranks(blocks).items():
        yield row(keys | {"model": model}, "mean_rank", Estimate(rank, n=n), counts)
    for (model, other), p_value in nemenyi(blocks).items():
        yield row(keys | {"model": model, "other_model": other}, "nemenyi_p", Estimate(p_value, n=n), counts)


def cells(scores: pd.DataFrame) -> Iterator[tuple[Key, pd.DataFrame, pd.Series]]:
    """Each cell's key, its rows of ``scores`` and the scores of its items, of original prompts; in the paper's order.

    Scores are by template and item, 0 to 100, each the mean over the repeats that have one; items without are left out.
    """
    original = scores[scores["prompt_set"] == "original"]
    keys = ["model", "category", "task"]
    groups = dict(list(original.groupby(keys, sort=False)))
    # Over all cells at once: a table asks of hundreds, most of them small.
    means = original.groupby([*keys, TEMPLATE, "item_id"], sort=False)["score"].mean().dropna().reset_index(keys)
    items = dict(list(means.groupby(keys, sort=False)["score"]))
    for key in itertools.product(original["model"].unique(), CATEGORIES, TASKS):
        if key in groups:
            yield key, groups[key], items.get(key, means["score"].iloc[:0])


def on_one_scale(scores: pd.DataFrame, options: McBEOptions) -> pd.DataFrame:
    """``scores`` with BA from 0 to 100, as the other tasks are; equation 5's weighted mean ends at 12.5."""
    if options.ba_aggregate == "weighted_sum":
        return scores
    return scores.assign(score=scores["score"].where(scores["task"] != "BA", scores["score"] * WEIGHTS))


def not_scored(cell: pd.DataFrame, items: pd.Series) -> Counts:
    """The items of ``cell`` that are not among the scored ``items``, by the status of their first repeat."""
    unscored = cell[~cell["item_id"].isin(items.index.get_level_values("item_id"))].drop_duplicates("item_id")
    return Counts.of(unscored, cell)


def published_key(key: Key, published_as: Mapping[str, str]) -> tuple[str, str, str | None]:
    """The index in :func:`published_scores` of a cell of ours; it is not there where no such model is published."""
    model, category, task = key
    return CATEGORY_NAMES[category], task, published_as.get(model)


@metric("mean_score")
def mean_of(parts: Sequence[pd.Series]) -> Estimate:
    """The mean of the mean scores (0 to 100) of ``parts``, each a cell's by template and item; all count the same.

    Over templates, which several parts may share: of one part CR2, of more a jackknife.
    """
    n = sum(map(len, parts))
    if not parts or not all(len(part) for part in parts):
        return Estimate(float(np.mean([part.mean() for part in parts])) if parts else np.nan, n=n)
    bounds = (0.0, 100.0) if all(part.between(0, 100).all() for part in parts) else None
    templates = [part.index.get_level_values(TEMPLATE) for part in parts]
    if len(parts) == 1:
        return Estimate.of(ratio(parts[0], np.ones(n), templates[0], bounds), n)
    return Estimate.of(mean_of_means(parts, templates, bounds), n)


def evidence(step: Step[McBEOptions]) -> Iterator[Evidence]:
    """``score`` by task and category. 100 is no null that a model with any noise meets, so nothing is claimed of it."""
    for (_, category, task), _, items in cells(on_one_scale(step.scores, step.options)):
        if len(items):
            templates = items.index.get_level_values(TEMPLATE)
            value = ratio_replicates(items, np.ones(len(items)), templates)
            names = items.index.get_level_values("item_id")
            sampled = items_of(names.to_series(), templates.to_series())
            yield Evidence("score", task, category, value, sampled, bounds=(0, 100), rate=task == "SC")
