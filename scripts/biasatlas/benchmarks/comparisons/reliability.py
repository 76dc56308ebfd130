"""Do numbers separate models, would they replicate, and do two of them rank models alike?"""

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.stats import chi2

from biasatlas.benchmarks.comparisons.pairs import BenchmarkEvidence
from biasatlas.benchmarks.shared.estimates import Estimate, make_table, row
from biasatlas.benchmarks.shared.evidence import OVERALL, Evidence
from biasatlas.stats import Array
from biasatlas.stats.clusters import cluster_sums
from biasatlas.stats.intervals import CONFIDENCE, MIN_CLUSTERS, NO_DIFFERENCE, rank_correlation, within
from biasatlas.stats.replicates import Crossed, Replicates, replicates

#: ``model`` is empty for rows over models, ``category`` for rows over categories.
KEYS = ("model", "benchmark", "measure", "part", "category", "other")

#: The fewest models for which a reliability is computed.
_MODELS = 3

#: How many random halvings a split-half reliability is a mean over.
_SPLITS = 100

#: What evidence is about: the benchmark's name, metric, part and category.
Key = tuple[str, str, str, str]
ByModel = Mapping[str, Evidence]


def reliability_table(runs: Sequence[BenchmarkEvidence], seeds: Sequence[Sequence[str]] = ()) -> pd.DataFrame:
    """Which numbers of a run are more than chance, and which of them rank models alike.

    Over models: ``reliability``, the share (0 to 1) of the mean squared difference of two models that is not sampling
    error, from paired standard errors, for three models or more. ``split_half`` (:func:`split_half`), for five or more.
    ``rank_correlation`` (Spearman) with the ``other`` row, over the models that have both: between categories of the
    same metric, and between any two metrics over all categories.

    By model: ``split_half`` over the categories of a metric, ``form_agreement`` (:func:`form_agreement`) of two parts
    that ask about the same items in different forms, and ``seed_spread`` of each group in ``seeds``: models that differ
    only by seed.
    """
    found: dict[Key, ByModel] = {
        (run.name, *key): {model: evidence[key] for model, evidence in run.found.items() if key in evidence}
        for run in runs
        for key in dict.fromkeys(key for evidence in run.found.values() for key in evidence)
    }
    return make_table(KEYS, [*_over_models(found), *_ranked(found), *_by_model(runs), *_by_seed(found, seeds)])


def _keys(model: str, key: Sequence[str], other: str = "") -> dict[str, str]:
    return dict(zip(KEYS, (model, *key, other), strict=True))


def _over_models(found: Mapping[Key, ByModel]) -> list[dict[str, object]]:
    rows = []
    for key, by_model in found.items():
        if len(by_model) >= _MODELS:
            rows.append(row(_keys("", key), "reliability", reliability(list(by_model.values()))))
        if len(by_model) >= MIN_CLUSTERS:
            rows.append(row(_keys("", key), "split_half", split_half(list(by_model.values()), shared=True)))
    return rows


def _ranked(found: Mapping[Key, ByModel]) -> list[dict[str, object]]:
    rows = []
    for one, two in itertools.combinations(found, 2):
        if one[:3] == two[:3] or one[3] == two[3] == OVERALL:
            both = [model for model in found[one] if model in found[two]]
            values = [[found[key][model].value for model in both] for key in (one, two)]
            if len(both) >= _MODELS:
                keys = _keys("", one, " ".join(filter(None, two)))
                rows.append(row(keys, "rank_correlation", Estimate.of(rank_correlation(*values), len(both))))
    return rows


def _by_model(runs: Sequence[BenchmarkEvidence]) -> list[dict[str, object]]:
    rows = []
    for run in runs:
        for model, evidence in run.found.items():
            parts: dict[tuple[str, str], list[Evidence]] = {}
            for each in evidence.values():
                if each.category != OVERALL:
                    parts.setdefault((each.metric, each.part), []).append(each)
            for (metric, part), categories in parts.items():
                if len(categories) >= MIN_CLUSTERS:
                    keys = _keys(model, (run.name, metric, part, ""))
                    rows.append(row(keys, "split_half", split_half(categories, shared=False)))
            for one, two in itertools.combinations(evidence.values(), 2):
                if (one.metric, one.category) == (two.metric, two.category) and one.category == OVERALL:
                    agreed = form_agreement(one, two)
                    if agreed:
                        keys = _keys(model, (run.name, *one.key), two.part)
                        rows.append(row(keys, "form_agreement", agreed))
    return rows


def _by_seed(found: Mapping[Key, ByModel], seeds: Sequence[Sequence[str]]) -> list[dict[str, object]]:
    rows = []
    for group in seeds:
        for key, by_model in found.items():
            values = [by_model[model].value for model in group if model in by_model]
            if len(values) > 1:
                rows.append(row(_keys(", ".join(group), key), "seed_spread", _spread(values)))
    return rows


def _spread(values: Sequence[float]) -> Estimate:
    """The standard deviation of normal ``values``, with its exact interval."""
    df, tail = len(values) - 1, (1 - CONFIDENCE) / 2
    spread = float(np.std(values, ddof=1))
    if not spread > 0:
        return Estimate(spread, n=len(values), n_clusters=len(values), no_interval_reason="the seeds do not differ")
    low, high = (spread * math.sqrt(df / chi2.ppf(at, df)) for at in (1 - tail, tail))
    return Estimate(spread, low, high, n=len(values), n_clusters=len(values))


def split_half(evidence: Sequence[Evidence], shared: bool, seed: int = 0) -> Estimate:
    """Would other clusters give the same values? Over models, whose clusters are ``shared``, or over categories.

    Clusters are halved at random. Each half gives every model (or category) a value, the mean of its clusters'
    jackknife pseudo-values (for a mean or ratio exactly its value there). The correlation of the two halves, a mean
    over 100 halvings, is stepped up to all clusters by Spearman and Brown's 2 r / (1 + r), at most 1. ``n`` counts
    models or categories. Missing if two models answered different clusters, or the values do not vary.
    """
    parts, found = [each.replicates for each in evidence], []
    names = parts[0].without.index
    if shared and any(not part.without.index.sort_values().equals(names.sort_values()) for part in parts):
        return Estimate(math.nan, n=len(parts), no_interval_reason="the models answered different clusters")
    if any(len(part.pull) < 2 for part in parts):
        return Estimate(math.nan, n=len(parts), no_interval_reason="a single cluster has no halves")
    sums = [_sums(part, names if shared else part.without.index) for part in parts]
    together = [np.stack(sums, axis=1)] if shared else [each[:, None] for each in sums]
    rng = np.random.default_rng(seed)
    for _ in range(_SPLITS):
        halves = np.concatenate([_halves(each, rng) for each in together], axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            found.append(np.corrcoef(halves)[0, 1])
    r = float(np.mean(found))
    stepped = max(2 * r / (1 + r), -1.0) if r > -1 else r  # below -1 where halves rank the models in reverse
    return Estimate(stepped, n=len(parts), no_interval_reason="a mean over random halves")


def _sums(part: Replicates | Crossed, clusters: pd.Index) -> Array:
    """Each cluster's pull times its own value, and its pull: (2, clusters)."""
    pull = part.pull.reindex(clusters).to_numpy(float)
    return np.stack([part.value - (1 - pull) * part.without.reindex(clusters).to_numpy(float), pull])


def _halves(sums: Array, rng: np.random.Generator) -> Array:
    """Values of two random halves of the clusters, (2, values), from :func:`_sums` of each, (2, values, clusters)."""
    order = rng.permutation(sums.shape[-1])
    parts = (sums[..., some].sum(axis=-1) for some in np.array_split(order, 2))
    return np.stack([top / bottom for top, bottom in parts])


def form_agreement(one: Evidence, two: Evidence) -> Estimate | None:
    """Cohen's kappa of the sides of neutral on which items lie in two forms: 1 if all agree, 0 as by chance.

    The interval is a jackknife's over clusters. Items on neither side in one form are left out; None if none is left.
    """
    both = one.items.index.intersection(two.items.index)
    if both.empty or not (one.items.index.is_unique and two.items.index.is_unique):
        return None
    signs = pd.DataFrame({"one": one.items["side"][both], "two": two.items["side"][both]}).dropna().astype(float)
    signs = signs[(signs != 0).all(axis=1)]
    if signs.empty:
        return None
    clusters = one.items["cluster"][signs.index]
    first, second = (signs["one"] > 0).astype(float), (signs["two"] > 0).astype(float)
    sums = cluster_sums(clusters, first == second, first, second, np.ones(len(signs)))
    kappa = replicates(_kappa, sums, pd.unique(clusters)).inference()
    return Estimate.of(within(kappa, -1, 1), len(signs))


def _kappa(sums: Array) -> Array:
    same, one, two = (sums[..., place] / sums[..., 3] for place in range(3))
    chance = one * two + (1 - one) * (1 - two)
    return ((same - chance) / (1 - chance))[..., None]


def reliability(evidence: Sequence[Evidence]) -> Estimate:
    """The reliability of one metric, from several models' evidence; missing if two of them answered different clusters,
    or an error is not known."""
    squares, errors = [], []
    for one, two in itertools.combinations(evidence, 2):
        try:
            paired = one.replicates.minus(two.replicates).inference()
        except ValueError:
            return Estimate(math.nan, n=len(evidence), no_interval_reason="the models answered different clusters")
        if paired.reason not in ("", NO_DIFFERENCE):
            return Estimate(math.nan, n=len(evidence), no_interval_reason=paired.reason)
        squares.append(paired.value**2)
        errors.append(np.nan_to_num(paired.se) ** 2)
    share = 1 - np.mean(errors) / np.mean(squares) if np.mean(squares) > 0 else math.nan
    return Estimate(
        float(np.maximum(share, 0.0)), n=len(evidence), no_interval_reason="a ratio of variances of few models"
    )


def agreement(values: pd.DataFrame) -> pd.DataFrame:
    """Rank correlations of every two columns of ``values`` (models, numbers), with intervals; published ones, too."""
    rows: list[Mapping[str, object]] = []
    for one, two in itertools.combinations(values, 2):
        both = values[[one, two]].dropna()
        found = rank_correlation(both[one], both[two])
        rows.append(
            {"one": one, "two": two, "value": found.value, "ci_low": found.low, "ci_high": found.high, "n": len(both)}
        )
    return pd.DataFrame(rows)
