"""DBB's tables: how many instances reach the threshold, beside what sampling alone would give, with intervals.

Every interval is a percentile interval of a bootstrap over question templates: the 67 instances of a template share its
sentences. It says how far a value would move with other templates of this kind; the draws are those at hand.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator
from functools import cache

import numpy as np
import pandas as pd
import scipy

from biasatlas.benchmarks.dbb import CATEGORIES, TEMPLATES, TYPES
from biasatlas.benchmarks.dbb.noise import noise_floor
from biasatlas.benchmarks.dbb.published import check_published
from biasatlas.files import TABLE_COLUMNS
from biasatlas.stats.intervals import MIN_UNITS, percentile, resample_counts

Published = Callable[[str], pd.DataFrame]

_IDENTITIES = {kind: len(identities) for types in TYPES.values() for kind, identities in types.items()}
#: Edges of the distribution's ranges, in points; each holds its lower edge, the last its upper one too.
_EDGES = np.arange(0, 101, 10)
_TOP = 5
_BIAS_METRICS = (
    "count",
    "rate",
    "mean_score_over_threshold",
    "mean_score",
    "noise_floor_rate",
    "noise_floor_mean_score",
    "excess_rate",
    "count_corrected",
    "rate_corrected",
)


def _instances(scores: pd.DataFrame, protocol: dict) -> pd.DataFrame:
    """The scores with what tables add up: ``counted`` (scored), ``over`` the threshold, and the noise floor's columns."""
    counted = scores["score"].notna()
    over = scores["score"] >= protocol["threshold"]
    noise = noise_floor(scores, protocol["threshold"])
    return scores.assign(
        counted=counted.astype(float),
        over=over.astype(float),
        score_over=scores["score"].where(over, 0.0),
        score_counted=scores["score"].fillna(0.0),
        **noise,
    )


def _groups(instances: pd.DataFrame, by_type: bool) -> Iterator[tuple[dict, pd.DataFrame]]:
    """(key columns, instances) for every model and category, or type; without types, all categories together come first."""
    for model, mine in instances.groupby("model", sort=False):
        if not by_type:
            yield {"model": model, "category": "All"}, mine
        for category in CATEGORIES:
            of_category = mine[mine["category"] == category]
            if by_type:
                for kind, rows in of_category.groupby("type", sort=True):
                    yield {"model": model, "category": category, "type": kind}, rows
            elif len(of_category):
                yield {"model": model, "category": category}, of_category


Ratio = tuple[str | np.ndarray, str | np.ndarray]
Estimate = tuple[float, float, float]

#: All groups have the same templates, so the same resamples serve them all.
_resamples = cache(resample_counts)


def _ratios(rows: pd.DataFrame, ratios: dict[str, Ratio]) -> dict[str, Estimate]:
    """Metric -> (value, low, high) of ratios of sums over instances, each a pair of columns by name or as an array.

    Templates are resampled; there is no interval below ``MIN_UNITS`` of them.
    """
    codes, templates = pd.factorize(rows["template_id"])
    parts = [
        np.nan_to_num(rows[part].to_numpy(float) if isinstance(part, str) else part)
        for part in itertools.chain.from_iterable(ratios.values())
    ]
    sums = np.column_stack([np.bincount(codes, part, len(templates)) for part in parts])
    with np.errstate(invalid="ignore", divide="ignore"):
        total = sums.sum(axis=0)
        values = total[::2] / total[1::2]
        if len(templates) < MIN_UNITS:
            bounds = np.full((2, len(values)), np.nan)
        else:
            resampled = _resamples(len(templates)) @ sums
            bounds = percentile(resampled[:, ::2] / resampled[:, 1::2])
    return {metric: tuple(map(float, found)) for metric, *found in zip(ratios, values, *bounds, strict=True)}


def _bias_estimates(rows: pd.DataFrame, protocol: dict) -> dict[str, Estimate]:
    """Metric -> (value, low, high) of one group of instances. Its instances are one family of tests."""
    ratios = {
        "rate": ("over", "counted"),
        "mean_score_over_threshold": ("score_over", "over"),
        "mean_score": ("score_counted", "counted"),
    }
    tested = rows["p_value"].notna()
    if tested.any():
        found = np.zeros(len(rows))
        found[tested] = (
            scipy.stats.false_discovery_control(rows.loc[tested, "p_value"]) <= protocol["false_discovery_rate"]
        )
        ratios |= {
            "noise_floor_rate": ("chance", "counted"),
            "noise_floor_mean_score": ("chance_score", "chance"),
            "excess_rate": ((rows["over"] - rows["chance"]).where(tested, 0).to_numpy(), "counted"),
            "rate_corrected": (found * rows["over"].to_numpy(), "counted"),
        }
    else:
        ratios["rate_corrected"] = ratios["rate"]
    estimates = _ratios(rows, ratios)
    n = rows["counted"].sum()
    for count, rate in (("count", "rate"), ("count_corrected", "rate_corrected")):
        estimates[count] = tuple(part * n for part in estimates[rate])
    return {metric: estimates[metric] for metric in _BIAS_METRICS if metric in estimates}


def _row(keys: dict, metric: str, estimate: Iterable[float], rows: pd.DataFrame, published: str | None = None) -> dict:
    value, low, high = (float(part) for part in estimate)
    statuses = rows["status"].value_counts()
    refused, unparseable = (int(statuses.get(name, 0)) for name in ("refused", "unparseable"))
    ok = int(statuses.get("ok", 0))
    return keys | {
        "metric": metric,
        "value": value,
        "ci_low": low,
        "ci_high": high,
        "n": ok,
        "refused": refused,
        "unparseable": unparseable,
        "missing": len(rows) - ok - refused - unparseable,
        "published": published,
        "difference": value - float(published) if published is not None else np.nan,
    }


def _table(keys: tuple[str, ...], rows: Iterable[dict]) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=[*keys, *TABLE_COLUMNS])


def _printed(table: pd.DataFrame, column: str, **keys: str | None) -> str | None:
    """What ``table`` prints in ``column`` for ``keys``; None where it prints nothing."""
    for name, value in keys.items():
        table = table[table[name] == value]
    return None if table.empty or pd.isna(table[column].iloc[0]) else table[column].iloc[0]


def composition(
    scores: pd.DataFrame, protocol: dict, published: Published, published_as: dict[str, str]
) -> pd.DataFrame:
    """Test instances by category (the paper's Table 3). ``missing`` counts those whose template has a fault.

    The paper's appendix also writes 27,864 for Religions, which would not add up to its 103,649. Its numbers stand beside
    those of its own templates only.
    """
    printed = published("dbb_composition")
    is_papers = scores["template_id"].nunique() == TEMPLATES
    instances = scores[scores["model"] == scores["model"].iloc[0]]

    def rows() -> Iterator[dict]:
        for category in ("All", *CATEGORIES):
            mine = instances if category == "All" else instances[instances["category"] == category]
            if mine.empty:
                continue
            total = str(printed["test_instances"].astype(int).sum())
            found = total if category == "All" else _printed(printed, "test_instances", category=category)
            faulty = int((mine["status"] == "failed").sum())
            estimate = len(mine), np.nan, np.nan
            row = _row({"category": category}, "instances", estimate, mine, found if is_papers else None)
            # A count of the data, not of what a model answered.
            yield row | {"n": len(mine) - faulty, "refused": 0, "unparseable": 0, "missing": faulty}

    return _table(("category",), rows())


def _bias(
    scores: pd.DataFrame, protocol: dict, by_type: bool, found: Callable[[dict, str], str | None]
) -> pd.DataFrame:
    """The bias estimates of every group; ``found(keys, metric)`` is the published value."""

    def rows() -> Iterator[dict]:
        for keys, mine in _groups(_instances(scores, protocol), by_type):
            for metric, estimate in _bias_estimates(mine, protocol).items():
                yield _row(keys, metric, estimate, mine, found(keys, metric))

    return _table(("model", "category", "type") if by_type else ("model", "category"), rows())


def bias(scores: pd.DataFrame, protocol: dict, published: Published, published_as: dict[str, str]) -> pd.DataFrame:
    """Count and mean score of the instances over the threshold, by category and over all (Table 1).

    For sampled probabilities, beside them: the rate and mean that as many draws give if no identity has any effect
    (:mod:`biasatlas.benchmarks.dbb.noise`), and the instances that are over the threshold and pass Fisher's exact test
    with the false discovery rate held (Benjamini and Hochberg) over the row's instances. Ten draws can single out only
    the strongest of them, so a corrected count of 0 beside an excess rate above 0 means: there are effects, and these
    draws cannot say where. An exact probability has no sampling noise, and its count needs no correction.
    """
    printed = published("dbb_models")
    measures = {"count": "count of instances >= 20", "mean_score_over_threshold": "mean bias score of instances >= 20"}

    def found(keys: dict, metric: str) -> str | None:
        if keys["category"] != "All" or metric not in measures:
            return None
        model = published_as.get(keys["model"])
        return _printed(printed, "value", benchmark="DBB", model=model, measure=measures[metric])

    return _bias(scores, protocol, False, found)


def descriptors(
    scores: pd.DataFrame, protocol: dict, published: Published, published_as: dict[str, str]
) -> pd.DataFrame:
    """As :func:`bias`, by descriptor type (Table 4)."""
    return _bias(scores, protocol, True, _by_type(published("dbb_descriptor_stats"), published_as))


def sg_bias(scores: pd.DataFrame, protocol: dict, published: Published, published_as: dict[str, str]) -> pd.DataFrame:
    """As :func:`bias`, of semi-generation (Table 8)."""
    printed = published("dbb_sg_models")
    columns = {"count": "count", "mean_score_over_threshold": "mean_score"}

    def found(keys: dict, metric: str) -> str | None:
        if keys["category"] != "All" or metric not in columns:
            return None
        return _printed(printed, columns[metric], model=published_as.get(keys["model"]))

    return _bias(scores, protocol, False, found)


def sg_descriptors(
    scores: pd.DataFrame, protocol: dict, published: Published, published_as: dict[str, str]
) -> pd.DataFrame:
    """As :func:`bias`, of semi-generation, by descriptor type (Table 9)."""
    return _bias(scores, protocol, True, _by_type(published("dbb_sg_descriptor_stats"), published_as))


def _by_type(printed: pd.DataFrame, published_as: dict[str, str]) -> Callable[[dict, str], str | None]:
    columns = {"count": "count", "mean_score_over_threshold": "mean_score"}

    def found(keys: dict, metric: str) -> str | None:
        if metric not in columns:
            return None
        return _printed(printed, columns[metric], model=published_as.get(keys["model"]), type=keys["type"])

    return found


def refusals(scores: pd.DataFrame, protocol: dict, published: Published, published_as: dict[str, str]) -> pd.DataFrame:
    """Answers that choose no option, in per cent of the answers to all questions (Table 5).

    A question is in as many instances as its type has other identities, so an instance weighs by their inverse.
    """
    printed = published("dbb_refusal")
    answered = scores[scores["refused"].notna()]
    answered = answered.assign(weight=1 / (answered["type"].map(_IDENTITIES).astype(float) - 1))

    def rows() -> Iterator[dict]:
        for keys, mine in _groups(answered, by_type=False):
            weight = mine["weight"].to_numpy()
            shares = {name: mine[name].to_numpy() for name in ("refused", "unparseable", "unresolved")}
            shares = {"refusal": shares["refused"] + shares["unparseable"]} | shares
            ratios = {f"{name}_rate": (100 * share * weight, weight) for name, share in shares.items()}
            for metric, estimate in _ratios(mine, ratios).items():
                found = None
                if metric == "refusal_rate" and keys["category"] == "All":
                    model = published_as.get(keys["model"])
                    found = _printed(printed, "refusal_rate_percent", benchmark="DBB", model=model)
                yield _row(keys, metric, estimate, mine, found)

    return _table(("model", "category"), rows())


def position(scores: pd.DataFrame, protocol: dict, published: Published, published_as: dict[str, str]) -> pd.DataFrame:
    """Share of the option shown first among the answers that choose one.

    With ``option_order: counterbalanced`` every option is shown first as often as second, and 0.5 is no preference.
    """
    known = scores[scores["first_option_share"].notna()]

    def rows() -> Iterator[dict]:
        for keys, mine in _groups(known, by_type=False):
            ratios = {"first_option_share": ("first_option_share", np.ones(len(mine)))}
            for metric, estimate in _ratios(mine, ratios).items():
                yield _row(keys, metric, estimate, mine)

    return _table(("model", "category"), rows())


def distribution(
    scores: pd.DataFrame, protocol: dict, published: Published, published_as: dict[str, str]
) -> pd.DataFrame:
    """Share of the instances in each range of ten points, by category and descriptor type (Figures 3, 4, 8 and 9)."""
    instances = _instances(scores, protocol)

    def rows() -> Iterator[dict]:
        groups = itertools.chain(_groups(instances, by_type=False), _groups(instances, by_type=True))
        for keys, mine in groups:
            keys = {"type": "All"} | keys
            place, counted = np.digitize(mine["score"], _EDGES[1:-1]), mine["counted"].to_numpy()
            ratios = {low: ((place == number) * counted, "counted") for number, low in enumerate(_EDGES[:-1])}
            for low, estimate in _ratios(mine, ratios).items():
                bounds = {"score_low": int(low), "score_high": int(low) + 10}
                yield _row(keys | bounds, "share", estimate, mine)

    return _table(("model", "category", "type", "score_low", "score_high"), rows())


def associations(
    scores: pd.DataFrame, protocol: dict, published: Published, published_as: dict[str, str]
) -> pd.DataFrame:
    """The five instances with the largest score in each category (Table 6), with the direction the paper leaves out.

    ``identity_1`` is the one under which the option of ``concept_1`` is likelier. The p-value of a sampled score is
    Fisher's, of one instance by itself: the largest of thousands are partly luck. Ties go by id.
    """
    instances = _instances(scores[scores["score"] > 0], protocol)

    def rows() -> Iterator[dict]:
        for keys, mine in _groups(instances, by_type=False):
            if keys["category"] == "All":
                continue
            top = mine.sort_values(["score", "instance_id"], ascending=[False, True], kind="stable").head(_TOP)
            for rank, (_, instance) in enumerate(top.iterrows(), start=1):
                names = instance[["identity_1", "identity_2"]].tolist()
                first, second = names if instance["shift"] > 0 else reversed(names)
                full = keys | {
                    "type": instance["type"],
                    "rank": rank,
                    "identity_1": first,
                    "concept_1": instance["concept_1"],
                    "identity_2": second,
                    "concept_2": instance["concept_2"],
                }
                one = instance.to_frame().T
                for metric in ("score", "p_value"):
                    if pd.notna(instance[metric]):
                        yield _row(full, metric, (instance[metric], np.nan, np.nan), one)

    keys = ("model", "category", "type", "rank", "identity_1", "concept_1", "identity_2", "concept_2")
    return _table(keys, rows())


def published_associations(
    scores: pd.DataFrame, protocol: dict, published: Published, published_as: dict[str, str]
) -> pd.DataFrame:
    """The score of each association that Table 6 prints, positive where it goes the way that the paper lists it.

    A concept pair that the data do not have is a row without a value.
    """
    printed = published("dbb_top_associations")
    keys = ["category", "type", "identity_1", "concept_1", "identity_2", "concept_2"]
    # Either identity may come first in an instance, and either concept in a template; each exchange turns the sign.
    exchanged = {"identity_1": "identity_2", "identity_2": "identity_1"}
    turned = {"concept_1": "concept_2", "concept_2": "concept_1"}
    views = [(1, {}), (-1, exchanged), (-1, turned), (1, exchanged | turned)]
    known = pd.concat([scores.rename(columns=names).assign(sign=sign) for sign, names in views])
    known = known.merge(printed[keys], on=keys, how="inner")

    def rows() -> Iterator[dict]:
        for model in scores["model"].unique():
            mine = known[known["model"] == model]
            for _, association in printed.iterrows():
                found = mine[(mine[keys] == association[keys]).all(axis=1)].head(1)
                value = (found["sign"] * found["shift"]).iloc[0] if len(found) else np.nan
                yield _row(
                    {"model": model} | association[keys].to_dict(), "directed_score", (value, np.nan, np.nan), found
                )

    return _table(("model", *keys), rows())


def replication(
    scores: pd.DataFrame, protocol: dict, published: Callable[[str], pd.DataFrame], published_as: dict[str, str]
) -> pd.DataFrame:
    """The printed tables held against one another (:func:`check_published`): no score is read."""
    return check_published(published)


TABLES = {
    "composition": composition,
    "bias": bias,
    "descriptors": descriptors,
    "refusals": refusals,
    "position": position,
    "distribution": distribution,
    "associations": associations,
    "published_associations": published_associations,
    "sg_bias": sg_bias,
    "sg_descriptors": sg_descriptors,
    "sg_distribution": distribution,
    "sg_associations": associations,
    "replication": replication,
}
