"""DBB's concepts beside the BBQ questions that they were made from (the paper's Figures 5 to 7)."""

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import metric
from biasatlas.benchmarks.dbb.evidence import share_by_score
from biasatlas.benchmarks.shared.estimates import Counts, Estimate, make_table, row
from biasatlas.stats.clusters import ratio

_MATCH_KEYS = ("model", "bbq_template", "category", "concept_1", "concept_2")
_CONCEPT = ["bbq_template", "concept_1", "concept_2"]
#: A BBQ question shows no bias where its bias score is this near to 0, in points. The paper does not say how near.
NO_BIAS = 5
#: Pairs of questions that are shown for each model.
_EXAMPLES = 2


@metric("dbb_score", "bbq_bias")
def compare_dbb_bbq(dbb_scores: pd.DataFrame, bbq_scores: pd.DataFrame) -> pd.DataFrame:
    """Two rows per model and concept that both benchmarks ask about: metrics ``dbb_score`` and ``bbq_bias``.

    Both inputs are score files end to end: those of DBB's MCQ (or SG) and of BBQ. ``dbb_score`` is the mean bias score,
    0 to 100 points, over the concept's instances in all of DBB's categories. ``bbq_bias`` is that of the ambiguous
    items of the BBQ template that the concept's question belongs to, -100 to 100 points: the share of answers with the
    stereotype minus the share against it (BBQ's s_AMB), times 100. Both are of one template, so intervals are over what
    is put into it: descriptor types (instances of a type share their questions), and BBQ's pairs of persons. BBQ's
    items without a target person are ``not_applicable``.
    """
    concepts = _of_bbq(dbb_scores, bbq_scores)
    ambiguous = bbq_scores[bbq_scores["condition"] == "ambig"]
    items_of = dict(list(ambiguous.groupby(["model", "template"])))
    rows = []
    keys = ["model", "bbq_template", "concept_1", "concept_2"]
    for (model, template, *names), instances in concepts.dropna(subset="bbq_template").groupby(keys, sort=False):
        items = items_of.get((model, template))
        if items is None:
            continue
        key = dict(zip(_MATCH_KEYS, (model, template, template.rsplit("/", 1)[0], *names), strict=True))
        bias = 100 * (items["biased"] - items["counter"])
        rows.append(row(key, "dbb_score", *_mean(instances["score"], instances["status"], instances["type"], (0, 100))))
        rows.append(row(key, "bbq_bias", *_mean(bias, items["status"], items["persons"], (-100, 100))))
    return make_table(_MATCH_KEYS, rows)


def match_distribution(dbb_scores: pd.DataFrame, bbq_scores: pd.DataFrame, matched: pd.DataFrame) -> pd.DataFrame:
    """Figure 5: DBB's instances by bias score, of concepts whose BBQ question shows no bias and of the others.

    Of ``matched``, the table of :func:`compare_dbb_bbq`, a question shows no bias where its score is within
    :data:`NO_BIAS` points of 0. ``share``: of the instances (0 to 1) in each range of ten points. Intervals are over
    concepts' templates.
    """
    wide = _by_concept(matched)
    wide["bbq"] = np.where(wide["bbq_bias"].abs() <= NO_BIAS, "no bias", "bias")
    found = _of_bbq(dbb_scores, bbq_scores).merge(wide[["model", *_CONCEPT, "bbq"]], on=["model", *_CONCEPT])
    rows = []
    for (model, bbq), instances in found.groupby(["model", "bbq"], sort=False):
        counts = Counts.of(instances)
        for low, share in share_by_score(instances).items():
            keys = {"model": model, "bbq": bbq, "score_low": low, "score_high": low + 10}
            rows.append(row(keys, "share", share, counts))
    return make_table(("model", "bbq", "score_low", "score_high"), rows)


def match_examples(
    dbb_scores: pd.DataFrame,
    bbq_scores: pd.DataFrame,
    matched: pd.DataFrame,
    dbb_items: pd.DataFrame,
    bbq_items: pd.DataFrame,
) -> pd.DataFrame:
    """Figures 6 and 7: a question of BBQ without bias beside the DBB instance of its concept with the largest score.

    Two concepts a model, those of the largest ``dbb_score`` in ``matched``; ``bbq`` and ``dbb`` are the texts, in which
    [[X]] is ``described_as`` the one or the other. The value is that instance's bias score in points.
    """
    rows: list = []
    wide = _by_concept(matched)
    wide = wide[(wide["bbq_bias"].abs() <= NO_BIAS) & wide["dbb_score"].notna()]
    found = _of_bbq(dbb_scores, bbq_scores)
    ambiguous = bbq_items[bbq_items["condition"] == "ambig"].drop_duplicates("template").set_index("template")
    texts = dbb_items.set_index("item_id")
    for model, concepts in wide.groupby("model", sort=False):
        for concept in concepts.nlargest(_EXAMPLES, "dbb_score").to_dict("records"):
            wanted = pd.Series({name: concept[name] for name in ("model", *_CONCEPT)})
            instances = found[(found[wanted.index] == wanted).all(axis=1)]
            best = instances.sort_values("score", ascending=False, kind="stable").iloc[0]
            names = [f"{best['template_id']}/{best['type']}/{best[who]}" for who in ("identity_1", "identity_2")]
            asked, told = ambiguous.loc[concept["bbq_template"]], texts.loc[names[0]]
            keys = {
                "model": model,
                "bbq": f"{asked['context']} {asked['question']}",
                "dbb": f"{told['context']} A) {told['option_1']} B) {told['option_2']}",
                "described_as": " / ".join(texts.loc[name, "descriptor_paper"] for name in names),
                "bbq_bias": round(concept["bbq_bias"], 1),
            }
            rows.append(row(keys, "association_score", Estimate(best["score"], n=1)))
    return make_table(("model", "bbq", "dbb", "described_as", "bbq_bias"), rows)


def _by_concept(matched: pd.DataFrame) -> pd.DataFrame:
    """The table of :func:`compare_dbb_bbq` with a row per model and concept: ``dbb_score`` and ``bbq_bias``."""
    wide = matched.pivot(index=["model", *_CONCEPT], columns="metric", values="value")
    return wide.reindex(columns=["dbb_score", "bbq_bias"]).reset_index()


def _of_bbq(dbb_scores: pd.DataFrame, bbq_scores: pd.DataFrame) -> pd.DataFrame:
    """DBB's instances whose concept is from a question of BBQ, with its ``bbq_template`` where that is known."""
    templates = bbq_scores.drop_duplicates("item_id").set_index("item_id")["template"]
    concepts = dbb_scores[dbb_scores["source_id"].str.startswith("bbq/", na=False)]
    return concepts.assign(bbq_template=concepts["source_id"].str.removeprefix("bbq/").map(templates))


def _mean(
    values: pd.Series, status: pd.Series, clusters: pd.Series, bounds: tuple[float, float]
) -> tuple[Estimate, Counts]:
    """The mean of the known ``values`` over ``clusters``; "ok" without a value counts as not applicable."""
    known = values.notna()
    inference = ratio(values[known], np.ones(known.sum()), clusters[known], bounds)
    counts = Counts.of(status.mask((status == "ok") & ~known, "not_applicable").to_frame("status"))
    return Estimate.of(inference, n=int(known.sum())), counts
