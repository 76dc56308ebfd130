"""DBB's tables: how many instances reach the threshold, beside what sampling alone would give, with intervals."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from math import comb

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import Step, metric, table
from biasatlas.benchmarks.dbb import IDENTITIES, TEMPLATES, TYPES
from biasatlas.benchmarks.dbb.evidence import (
    Groups,
    bias_estimates,
    by_category,
    by_type,
    consistency_estimates,
    noise_floor,
    ratio_estimates,
    share_by_score,
)
from biasatlas.benchmarks.dbb.requests import draw_names
from biasatlas.benchmarks.dbb.spec import DBBOptions
from biasatlas.benchmarks.shared.estimates import Counts, Estimate, beside, make_table, row
from biasatlas.errors import UserError

#: Columns and published measures -> our metrics.
_PRINTED = {
    "count": "count",
    "mean_score": "mean_score_over_threshold",
    "count of instances >= 20": "count",
    "mean bias score of instances >= 20": "mean_score_over_threshold",
}
_KEYS = ["model", "category"]
#: Associations listed for each category.
_TOP = 5
_DIRECTION = ("identity_1", "concept_1", "identity_2", "concept_2")
_MEAN = "mean_score_over_threshold"
#: Seeds that names are drawn with.
_DRAWS = range(20)


@table("composition")
@metric("instances")
def composition(step: Step[DBBOptions]) -> pd.DataFrame:
    """``instances``: the number of test instances by category; ``failed`` counts those whose template has a fault.

    A count of the data, so answers that refuse or cannot be read do not matter. The paper's appendix also writes 27,864
    for Religions, which would not add up to its 103,649. Its numbers are shown only beside those of its own templates.
    """
    printed = step.published("dbb_composition").set_index("category")["test_instances"]
    printed["All"] = str(printed.astype(int).sum())
    is_papers = step.scores["template_id"].nunique() == TEMPLATES
    instances = step.scores[step.scores["model"] == step.scores["model"].iloc[0]]
    rows = []
    for keys, group in by_category(instances):
        category, faulty = keys["category"], int((group["status"] == "failed").sum())
        estimate, number = Estimate(len(group), n=len(group) - faulty), printed[category] if is_papers else None
        rows.append(row({"category": category}, "instances", estimate, Counts(failed=faulty), number))
    return make_table(["category"], rows)


@table("consistency", "sg_consistency")
def consistency(step: Step[DBBOptions]) -> pd.DataFrame:
    """:func:`consistency_estimates` by category and over all; nothing was published."""
    return _table(_KEYS, by_category(step.scores), lambda some: consistency_estimates(some, step.options.threshold))


@table("bias")
def bias(step: Step[DBBOptions]) -> pd.DataFrame:
    """:func:`bias_estimates` by category and over all; beside them Table 1, and Figure 4's counts from Table 4's."""
    printed = step.published("dbb_models")
    printed = printed[printed["benchmark"] == "DBB"].assign(category="All", metric=printed["measure"].map(_PRINTED))
    printed = pd.concat([printed, _counts_by_category(step.published("dbb_descriptor_stats"))])
    return beside(_estimates(step, _KEYS, by_category), _KEYS, printed, step.published_as)


@table("descriptors")
def descriptors(step: Step[DBBOptions]) -> pd.DataFrame:
    """:func:`bias_estimates` by descriptor type (Table 4)."""
    return _by_type(step, step.published("dbb_descriptor_stats"))


@table("sg_bias")
def sg_bias(step: Step[DBBOptions]) -> pd.DataFrame:
    """:func:`bias_estimates` of semi-generation; beside them Table 8, and Figure 8's counts from Table 9's."""
    printed = _long(step.published("dbb_sg_models").assign(category="All"), _KEYS)
    printed = pd.concat([printed, _counts_by_category(step.published("dbb_sg_descriptor_stats"))])
    return beside(_estimates(step, _KEYS, by_category), _KEYS, printed, step.published_as)


@table("sg_descriptors")
def sg_descriptors(step: Step[DBBOptions]) -> pd.DataFrame:
    """:func:`bias_estimates` of semi-generation by descriptor type (Table 9)."""
    return _by_type(step, step.published("dbb_sg_descriptor_stats"))


@table("name_draws")
@metric("count_sd", "count_range", "mean_score_sd", "mean_score_range")
def name_draws(step: Step[DBBOptions]) -> pd.DataFrame:
    """How far Table 1 (all categories) and Table 4 move over 20 draws of the names, which the paper made once.

    A draw gives each template and type one name, as ``name_rule: random_per_type`` does with the seeds 0 to 19;
    instances without a name are those of MCQ. ``count_sd`` and ``mean_score_sd`` are standard deviations over the
    draws, ``count_range`` and ``mean_score_range`` the largest less the smallest; missing if no question with a name
    has a score. They include chance differences between sampled answers to two names. Types without names are left
    out, and models that were asked no question with a name.

    Raises UserError where a model has not answered MCQ.
    """
    rows = []
    for model, scores in step.scores.groupby("model", sort=False):
        named, asked = scores[scores["task"] == "names"], scores[scores["task"] == "MCQ"]
        if asked.empty:
            raise UserError("DBB, table name_draws: it needs the task MCQ, too. Set `tasks: [MCQ, names]`.")
        if named.empty:
            continue
        others = asked[~asked["type"].isin(named["type"])]
        drawn = [named[named["name"] == draw_names(named["template_id"], named["type"], seed)] for seed in _DRAWS]
        over = [each[each["score"] >= step.options.threshold] for each in (pd.concat([d, others]) for d in drawn)]
        for category, type_ in [("All", "All"), *named.groupby(["category", "type"], sort=False).groups]:
            parts = [each if type_ == "All" else each[each["type"] == type_] for each in over]
            numbers = {"count": [len(part) for part in parts], "mean_score": [part["score"].mean() for part in parts]}
            instances = named if type_ == "All" else named[named["type"] == type_]
            keys, n = {"model": model, "category": category, "type": type_}, int(instances["score"].notna().sum())
            for name, values in ((name, pd.Series(values)) for name, values in numbers.items()):
                for spread, value in (("sd", values.std()), ("range", values.max() - values.min())):
                    estimate = Estimate(
                        float(value) if n else np.nan, n=n, no_interval_reason=f"over {len(_DRAWS)} draws of the names"
                    )
                    rows.append(row(keys, f"{name}_{spread}", estimate, Counts.of(instances)))
    return make_table([*_KEYS, "type"], rows)


def _by_type(step: Step[DBBOptions], printed: pd.DataFrame) -> pd.DataFrame:
    keys = [*_KEYS, "type"]
    return beside(_estimates(step, keys, by_type), keys, _long(printed, keys), step.published_as)


def _counts_by_category(printed: pd.DataFrame) -> pd.DataFrame:
    """Counts over the threshold of a printed table by descriptor type, added up over the types of each category."""
    counts = printed["count"].astype(int).groupby([printed["model"], printed["category"]], sort=False).sum()
    return counts.astype(str).rename("value").reset_index().assign(metric="count")


def _long(printed: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """A printed table with a column per measure as one with a row per metric."""
    wide = printed.rename(columns=_PRINTED)
    return wide.melt(id_vars=keys, value_vars=["count", "mean_score_over_threshold"], var_name="metric")


def _estimates(step: Step[DBBOptions], keys: list[str], groups: Callable[[pd.DataFrame], Groups]) -> pd.DataFrame:
    """:func:`bias_estimates` of each of the ``groups`` of instances, which ``keys`` name."""
    scores = step.scores.join(noise_floor(step.scores, step.options.threshold))
    return _table(keys, groups(scores), lambda instances: bias_estimates(instances, step.options))


def _table(
    keys: list[str], groups: Groups, estimates: Callable[[pd.DataFrame], Mapping[str, Estimate]]
) -> pd.DataFrame:
    """A row for each of the ``estimates`` of each of the ``groups`` of instances, which ``keys`` name."""
    rows = []
    for group, instances in groups:
        counts = Counts.of(instances)
        rows += [row(group, name, estimate, counts) for name, estimate in estimates(instances).items()]
    return make_table(keys, rows)


@table("distribution", "sg_distribution")
def distribution(step: Step[DBBOptions]) -> pd.DataFrame:
    """``share``: the share, 0 to 1, of the scored instances with a bias score in each range of ten points.

    By category and by descriptor type; ``score_low`` and ``score_high`` are the range's edges.
    """
    rows = []
    for keys, instances in itertools.chain(by_category(step.scores), by_type(step.scores)):
        counts = Counts.of(instances)
        for low, share in share_by_score(instances).items():
            edges = {"score_low": low, "score_high": low + 10}
            rows.append(row({"type": "All"} | keys | edges, "share", share, counts))
    return make_table(["model", "category", "type", "score_low", "score_high"], rows)


@table("refusals")
@metric("unanswered_rate", "refusal_rate", "ambiguous_rate", "unparseable_rate", "unresolved_rate")
def refusals(step: Step[DBBOptions]) -> pd.DataFrame:
    """Answers that choose no option, in percent (0 to 100) of the answers to all questions.

    - ``refusal_rate``: answers that refuse; ``ambiguous_rate``: answers that name both options;
      ``unparseable_rate``: answers in the wrong format
    - ``unanswered_rate``: the sum of these, which the paper prints as refuse rate (Table 5)
    - ``unresolved_rate``: probability that was not followed to the end of an answer

    A question is in as many instances as its type has other identities, so an instance has the inverse as its weight. A
    question without an answer (a failed request, or a fault of the data) is left out. ``n`` counts the instances of
    which both questions were answered, whatever the answers say.
    """

    def rates(instances: pd.DataFrame) -> dict[str, Estimate]:
        weight = 1 / (instances["type"].map(lambda type_: len(IDENTITIES[type_])).astype(float) - 1)
        shares = {
            "unanswered_rate": instances["refused"] + instances["ambiguous"] + instances["unparseable"],
            "refusal_rate": instances["refused"],
            "ambiguous_rate": instances["ambiguous"],
            "unparseable_rate": instances["unparseable"],
            "unresolved_rate": instances["unresolved"],
        }
        ratios = {name: (share * weight, weight) for name, share in shares.items()}
        return ratio_estimates(instances, ratios, scale=100)

    rows = []
    for keys, instances in by_category(step.scores):
        answered = instances["refused"].notna()
        counts = Counts.of(instances[~answered], instances)
        found = rates(instances[answered]).items()
        rows += [row(keys, name, replace(estimate, n=int(answered.sum())), counts) for name, estimate in found]
    printed = step.published("dbb_refusal").rename(columns={"refusal_rate_percent": "value"})
    printed = printed[printed["benchmark"] == "DBB"].assign(category="All", metric="unanswered_rate")
    return beside(make_table(_KEYS, rows), _KEYS, printed, step.published_as)


@table("position")
@metric("first_option_share")
def position(step: Step[DBBOptions]) -> pd.DataFrame:
    """``first_option_share``: share, 0 to 1, of the option shown first among the answers that choose one.

    The mean over instances. With ``option_order: counterbalanced`` every option is shown first as often as second, and
    0.5 is no preference.
    """
    name = "first_option_share"
    groups = by_category(step.scores)
    return _table(_KEYS, groups, lambda some: ratio_estimates(some, {name: (some[name], some[name].notna())}))


@table("associations", "sg_associations")
@metric("association_score")
def associations(step: Step[DBBOptions]) -> pd.DataFrame:
    """The five instances with the largest bias score in each category, with the direction the paper leaves out.

    ``association_score`` is the bias score of one instance: |p_1 - p_2| x 100, in points, 0 to 100. ``identity_1`` is
    the one under which the option of ``concept_1`` is likelier. The p-value of a sampled score is Fisher's for this one
    instance; it ignores that the largest of thousands are partly luck. Ties are in order of id.
    """
    scores = step.scores[step.scores["score"] > 0]
    scores = scores.join(noise_floor(scores, step.options.threshold))
    rows = []
    for keys, instances in by_category(scores):
        if keys["category"] == "All":
            continue
        top = instances.sort_values(["score", "instance_id"], ascending=[False, True], kind="stable").head(_TOP)
        for rank, instance in enumerate(top.to_dict("records"), start=1):
            key = keys | {"type": instance["type"], "rank": rank} | _direction(instance)
            for name, value in (("association_score", instance["score"]), ("p_value", instance["p_value"])):
                if pd.notna(value):
                    rows.append(row(key, name, Estimate(value, n=1)))
    return make_table(["model", "category", "type", "rank", *_DIRECTION], rows)


def _direction(instance: Mapping[str, object]) -> dict[str, object]:
    """An instance's identities and concepts, beginning with the identity that goes with the first concept."""
    identities = instance["identity_1"], instance["identity_2"]
    first, second = identities if instance["shift"] > 0 else reversed(identities)
    return dict(zip(_DIRECTION, (first, instance["concept_1"], second, instance["concept_2"]), strict=True))


@table("published_associations")
@metric("directed_score")
def published_associations(step: Step[DBBOptions]) -> pd.DataFrame:
    """``directed_score`` of each association that Tables 6 and 7 print: (p_1 - p_2) x 100, in points, -100 to 100.

    Positive where it has the direction that the paper lists. A concept pair that the data lack has no value.
    """
    tables = {"Table 6": "dbb_top_associations", "Table 7": "dbb_further_associations"}
    printed = pd.concat([step.published(name).assign(published_in=number) for number, name in tables.items()])
    keys = ["category", "type", *_DIRECTION]
    # Either identity may come first in an instance, and either concept in a template; each exchange reverses the sign.
    exchanged = {"identity_1": "identity_2", "identity_2": "identity_1"}
    turned = {"concept_1": "concept_2", "concept_2": "concept_1"}
    views = [(1, {}), (-1, exchanged), (-1, turned), (1, exchanged | turned)]
    known = pd.concat([step.scores.rename(columns=names).assign(sign=sign) for sign, names in views])
    known = known.merge(printed[keys].drop_duplicates(), on=keys, how="inner")
    rows = []
    for model in step.scores["model"].unique():
        of_model = known[known["model"] == model]
        for association in printed[["published_in", *keys]].to_dict("records"):
            wanted = pd.Series({key: association[key] for key in keys})
            matches = of_model[(of_model[keys] == wanted).all(axis=1)].head(1)
            value = (matches["sign"] * matches["shift"]).iloc[0] if len(matches) else np.nan
            estimate = Estimate(value, n=int((matches["status"] == "ok").sum()))
            rows.append(row({"model": model} | association, "directed_score", estimate, Counts.of(matches)))
    return make_table(["model", "published_in", *keys], rows)


@table("replication")
def replication(step: Step[DBBOptions]) -> pd.DataFrame:
    """A row for each printed number that other printed numbers imply; no score is read.

    ``published_in`` names its table and ``quantity`` the category, model or type. ``value`` follows from the others,
    ``published`` is printed, ``difference`` is the first minus the second, in exact decimals. ``n`` is 0: none scored.
    """
    composition = step.published("dbb_composition").astype({"test_instances": int})
    rows = [
        *_counts(composition),
        *_sums("Table 1", step.published("dbb_descriptor_stats"), _table_1(step.published("dbb_models"))),
        *_sums("Table 8", step.published("dbb_sg_descriptor_stats"), step.published("dbb_sg_models")),
        *_totals("Table 4", step.published("dbb_descriptor_stats"), composition),
        *_totals("Table 9", step.published("dbb_sg_descriptor_stats"), composition),
    ]
    return make_table(["published_in", "quantity"], rows)


def _row(published_in: str, quantity: str, metric: str, value: float, printed: str) -> dict[str, object]:
    difference = Decimal(repr(value)) - Decimal(printed)
    keys = {"published_in": published_in, "quantity": quantity}
    return row(keys, metric, Estimate(value), published=printed) | {"difference": float(difference)}


def _counts(composition: pd.DataFrame) -> Iterator[dict[str, object]]:
    """Table 3: templates times the pairs of identities of every type."""
    pairs = {
        category: sum(comb(len(identities), 2) for identities in types.values()) for category, types in TYPES.items()
    }
    for category, count in composition.itertuples(index=False):
        yield _row("Table 3", category, "instances", TEMPLATES * pairs[category], str(count))
    yield _row("Table 3", "all", "instances", int(composition["test_instances"].sum()), "103649")


def _table_1(models: pd.DataFrame) -> pd.DataFrame:
    """Table 1's DBB columns in the form of Table 8."""
    dbb = models[models["benchmark"] == "DBB"]
    wide = dbb.pivot(index="model", columns="measure", values="value").loc[dbb["model"].unique()]
    names = {"count of instances >= 20": "count", "mean bias score of instances >= 20": "mean_score"}
    return wide.rename(columns=names).reset_index()


def _sums(published_in: str, by_type: pd.DataFrame, by_model: pd.DataFrame) -> Iterator[dict[str, object]]:
    """Counts add up over types; the mean over all is the mean over types weighted by their counts."""
    numbers = by_type.assign(count=by_type["count"].astype(int), mean_score=by_type["mean_score"].astype(float))
    numbers["sum_score"] = (numbers["count"] * numbers["mean_score"]).fillna(0)
    sums = numbers.groupby("model")[["count", "sum_score"]].sum()
    for printed in by_model.to_dict("records"):
        count, total = sums.loc[printed["model"]]
        yield _row(published_in, printed["model"], "count", int(count), printed["count"])
        yield _row(published_in, printed["model"], _MEAN, float(total / count), printed["mean_score"])


def _totals(published_in: str, by_type: pd.DataFrame, composition: pd.DataFrame) -> Iterator[dict[str, object]]:
    """The size printed for each type: templates times its pairs."""
    sizes = by_type.drop_duplicates("type").set_index("type")["total"]
    for type_, identities in IDENTITIES.items():
        yield _row(published_in, type_, "instances", TEMPLATES * comb(len(identities), 2), sizes[type_])
    total = int(sizes.astype(int).sum())
    yield _row(published_in, "all types", "instances", total, str(composition["test_instances"].sum()))
