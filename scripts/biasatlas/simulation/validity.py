"""What many seeds say of a metric (the bias of its estimate, coverage, false alarms, power), and its validity card."""

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy.stats import beta, binomtest

from biasatlas.benchmarks.registry import spec_view
from biasatlas.simulation.nuisances import NUISANCES
from biasatlas.simulation.studies import Study
from biasatlas.stats.intervals import quantile, smallest_findable

#: Bars of a headline: coverage from 20 clusters on and from 10, false alarms, and the power of what is findable.
COVERAGE, COVERAGE_FEW, FALSE_ALARMS, POWER = (0.93, 0.97), 0.90, 0.06, 0.80
#: Clusters from which the first bar of coverage holds.
MANY = 20
#: Level of the metrics' tests, and of the tests over seeds that must reject a bar before it counts as missed.
ALPHA = 0.05
#: A share of false alarms that the seeds must exclude, at the same level, before a headline has passed.
EXCLUDED = 0.10
#: How a reason names a setting that is no nuisance.
_NO_NUISANCE = {"bias-0": "without any nuisance"}
#: Standard errors from the ground truth within which an estimate counts as unbiased.
WITHIN = 3.0

SETTING_COLUMNS = (
    *("study", "benchmark", "protocol", "data", "tasks", "metric", "of", "setting", "dose", "seeds"),
    *("n_clusters", "ground_truth", "mean", "mean_error", "off", "coverage", "found", "matters"),
    *("claimed", "cleared", "width", "without_interval"),
)
CARD_COLUMNS = (
    *("benchmark", "protocol", "data", "study", "tasks", "metric", "of", "n_clusters", "seeds", "verdict"),
    *("coverage", "false_alarms", "claimed", "mistakes", "tried", "not_tried"),
    *("smallest_dose", "smallest_value", "findable", "reason"),
)


def settings_table(
    name: str, study: Study, experiments: Mapping[str, pd.DataFrame], data: str = "full"
) -> pd.DataFrame:
    """A row for each headline and setting of a study on ``data``, from its ``experiments`` by setting; SETTING_COLUMNS.

    ``mean`` is that of the estimates over ``seeds``, with its standard error; ``off`` is its distance from the truth in
    standard errors (for a root, whose mean is too small, that of the mean of its squares). ``coverage`` is the share of
    intervals that hold the truth; ``found`` the share of estimates that are significant (by their test, or an interval
    without the neutral value): false alarms where ``dose`` is 0, else power. ``claimed`` and ``cleared`` are the shares
    whose interval lies wholly beyond, and wholly within, the smallest effect that ``matters``, so that a lone claim
    would be called biased, or unbiased; all three are missing if no headline declares one. Seeds without an interval
    are left out, and counted. ``width`` is the median width of the intervals.
    """
    rows = []
    for setting, runs in experiments.items():
        for (metric, of), one in runs.groupby(["metric", "of"], sort=False):
            rows.append(
                {
                    **named(name, study, str(metric), str(of)),
                    "data": data,
                    "setting": setting,
                    "dose": study.dose(setting),
                    **_summary(one, study.benchmark, str(metric)),
                }
            )
    return pd.DataFrame(rows, columns=list(SETTING_COLUMNS))


def named(name: str, study: Study, metric: str, of: str) -> dict[str, str]:
    """The columns that identify a headline of a study."""
    return {
        "study": name,
        "benchmark": study.benchmark,
        "protocol": study.protocol,
        "tasks": ", ".join(study.tasks),
        "metric": metric,
        "of": of,
    }


def _summary(runs: pd.DataFrame, benchmark: str, metric: str) -> dict[str, float]:
    measured = runs[runs["value"].notna()]
    known = measured[measured["ci_low"].notna()]
    low, high, ground_truth = known["ci_low"], known["ci_high"], runs["ground_truth"].iloc[0]
    neutral, smallest, margin = _declared(benchmark, metric)
    matters, apart = smallest + margin, 0.0
    if "margin" in known:  # a model's own answers show how far something else moves them
        apart = (known["margin"] - margin).clip(lower=0).fillna(0.0)
    beyond = (low > neutral + matters + apart) | (high < neutral - matters - apart)
    squares = spec_view(benchmark, "studies").metrics[metric].root
    values, expected = (x * abs(x) if squares else x for x in (measured["value"], ground_truth))
    with np.errstate(divide="ignore", invalid="ignore"):
        off = (values.mean() - expected) / values.sem()
    tested = known["p_value"].isna() | known["p_value"].lt(ALPHA)
    within = (low > neutral - matters) & (high < neutral + matters)
    told = len(known) > 0 and not math.isnan(matters)
    return {
        "seeds": len(runs),
        "n_clusters": measured["n_clusters"].median(),
        "ground_truth": ground_truth,
        "mean": measured["value"].mean(),
        "mean_error": measured["value"].sem(),
        "off": off,
        "coverage": np.nan if math.isnan(ground_truth) else (low.le(ground_truth) & high.ge(ground_truth)).mean(),
        "found": _significant(measured, neutral).mean(),
        "matters": matters,
        "claimed": (beyond & tested).mean() if told else np.nan,
        "cleared": within.mean() if told else np.nan,
        "width": (high - low).median(),
        "without_interval": len(runs) - len(known),
    }


def _declared(benchmark: str, metric: str) -> tuple[float, float, float]:
    """The neutral value of a metric, the smallest effect that matters and how far confounders move it, as a headline
    declares them; missing where none does."""
    spec = spec_view(benchmark, "studies")
    for headline in spec.headlines:
        if headline.metric == metric and headline.null is not None:
            return headline.null, headline.smallest, headline.margin
    neutral = spec.metrics[metric].neutral
    return (math.nan if neutral is None else neutral), math.nan, math.nan


def _significant(measured: pd.DataFrame, neutral: float) -> pd.Series:
    """1 where a finding would be reported, 0 where not, missing where neither test nor interval says."""
    if measured["p_value"].notna().any():
        return measured["p_value"].lt(ALPHA).astype(float).where(measured["p_value"].notna())
    known = measured["ci_low"].notna() & (not math.isnan(neutral))
    return ((measured["ci_low"] > neutral) | (measured["ci_high"] < neutral)).astype(float).where(known)


def cards(settings: pd.DataFrame, fitting: Mapping[str, list[str]]) -> pd.DataFrame:
    """A validity card for each headline, from :func:`settings_table`; CARD_COLUMNS. ``fitting`` maps a study to all
    nuisances that fit it.

    ``coverage`` is over all doses. ``false_alarms`` is the greatest share of significant estimates under any nuisance,
    and ``mistakes`` names the nuisances under which it is above the bar; ``claimed`` is the greatest share that would
    be called biased by at least what matters. ``tried`` has the false alarms under each nuisance, ``not_tried`` the
    other nuisances. ``smallest_dose`` is the bias in log odds or nats that is found with a power of 80%, by linear
    interpolation between the doses tried, ``smallest_value`` the ground truth there (the mean estimate if none is
    known). ``findable`` is the distance from the neutral value that is found with that power according to the width of
    intervals without bias alone, (t.975 + t.8) SE, whatever was tried.

    The ``verdict`` is "descriptive", with the ``reason``, if the seeds reject a bar at the level :data:`ALPHA`;
    "passed" if they also exclude, at that level, that more than :data:`EXCLUDED` of models without bias are called
    biased; else "inconclusive". A model is called biased by its interval and the smallest effect that matters or, for a
    metric without one, by significance. A nuisance that moves a metric by less than matters makes no false verdict, but
    is named.
    """
    keys = ["benchmark", "protocol", "data", "study", "tasks", "metric", "of"]
    rows = [
        dict(zip(keys, names, strict=True)) | _card(rows, fitting[names[3]])
        for names, rows in settings.groupby(keys, sort=False)
    ]
    return with_confounders(pd.DataFrame(rows, columns=list(CARD_COLUMNS)))


def with_confounders(table: pd.DataFrame) -> pd.DataFrame:
    """:func:`cards`, made "descriptive" where few clusters hide a fault: for headlines with a confounder of no known
    limit, and on a sample if the same study's card on the full data is descriptive."""
    closed = [
        any(each.metric == metric and each.closed_by for each in spec_view(str(benchmark), "studies").headlines)
        for benchmark, metric in zip(table["benchmark"], table["metric"], strict=True)
    ]
    same = pd.MultiIndex.from_frame(table[["study", "metric", "of"]])
    fails = (table["data"] == "full") & (table["verdict"] == "descriptive")
    reasons = {"a known confounder": closed, "fails on the full data": same.isin(same[fails])}
    for reason, known in reasons.items():
        new = pd.Series(known, table.index, dtype=bool) & (table["verdict"] != "descriptive")
        table = table.assign(
            verdict=table["verdict"].mask(new, "descriptive"), reason=table["reason"].mask(new, reason)
        )
    return table


def _card(rows: pd.DataFrame, fitting: list[str]) -> dict[str, object]:
    doses = rows[rows["setting"].str.startswith("bias-")].sort_values("dose")
    fair = rows[rows["dose"] == 0].set_index("setting")
    clusters = rows["n_clusters"].median()
    alarms, claimed = fair["found"].dropna(), fair["claimed"].dropna()
    seeds = fair["seeds"]
    mistakes, wrong = (_above(shares, seeds) for shares in (alarms, _called(fair)))
    reasons = [
        *_missed_coverage(doses["coverage"].mean(), int(doses["seeds"].sum()), clusters),
        *_biased(doses),
        *_not_monotone(doses),
        *_cleared(doses),
    ]
    reasons += [f"false alarms ({', '.join(_NO_NUISANCE.get(name, name) for name in wrong)})"] * bool(wrong)
    reasons += ["no interval"] * bool((doses["without_interval"] == doses["seeds"]).all())
    open_ = _open(fair)
    dose, value = _smallest(doses)
    return {
        "n_clusters": clusters,
        "seeds": int(seeds.min()),
        "verdict": "descriptive" if reasons else "inconclusive" if open_ else "passed",
        "coverage": doses["coverage"].mean(),
        "false_alarms": alarms.max() if len(alarms) else np.nan,
        "claimed": claimed.max() if len(claimed) else np.nan,
        "mistakes": ", ".join(mistakes),
        "tried": "; ".join(name if np.isnan(share) else f"{name} {share:.3f}" for name, share in fair["found"].items()),
        "not_tried": ", ".join(name for name in fitting if name not in fair.index),
        "smallest_dose": dose,
        "smallest_value": value,
        "findable": _findable(doses.iloc[0], alarms),
        "reason": "; ".join(reasons)
        or f"too few models to tell ({', '.join(_NO_NUISANCE.get(name, name) for name in open_)})" * bool(open_),
    }


def inconclusive(settings: pd.DataFrame) -> dict[str, set[str]]:
    """Study -> settings in which more models are needed to say whether a headline that misses no bar passes."""
    found: dict[str, set[str]] = {}
    for (study, _, _), rows in settings.groupby(["study", "metric", "of"], sort=False):
        if _card(rows, [])["verdict"] == "inconclusive":
            found.setdefault(str(study), set()).update(_open(rows[rows["dose"] == 0].set_index("setting")))
    return found


def _called(fair: pd.DataFrame) -> pd.Series:
    """Share of models that would be called biased, by setting: beyond what matters, or else by significance."""
    claimed = fair["claimed"].dropna()
    return fair["found"].dropna() if claimed.empty else claimed


def _open(fair: pd.DataFrame) -> list[str]:
    """Settings in which too few models were asked to exclude :data:`EXCLUDED`."""
    return [str(name) for name, share in _called(fair).items() if _highest(share, int(fair["seeds"][name])) >= EXCLUDED]


def _above(shares: pd.Series, seeds: pd.Series) -> list[str]:
    """Settings whose share is above the bar by more than chance; the tests share the level (Bonferroni)."""
    level = ALPHA / max(len(shares), 1)
    return [
        str(name)
        for name, share in shares.items()
        if binomtest(round(share * seeds[name]), int(seeds[name]), FALSE_ALARMS, alternative="greater").pvalue < level
    ]


def _highest(share: float, seeds: int) -> float:
    """The upper limit of a share of ``seeds`` by Clopper and Pearson, one-sided."""
    found = round(share * seeds)
    return float(beta.ppf(1 - ALPHA, found + 1, seeds - found)) if found < seeds else 1.0


def _cleared(doses: pd.DataFrame) -> list[str]:
    """A reason for each dose that matters but is called unbiased more often than the bar allows."""
    away = (doses["ground_truth"] - doses["ground_truth"].iloc[0]).abs()
    missed = doses[(away >= doses["matters"]) & doses["cleared"].notna()].set_index("setting")
    return [f"called unbiased at {name.replace('-', ' ')}" for name in _above(missed["cleared"], missed["seeds"])]


def _missed_coverage(coverage: float, intervals: int, clusters: float) -> list[str]:
    if np.isnan(coverage):
        return []
    few = clusters < MANY  # missing: not clustered, so not few
    low, high = (COVERAGE_FEW, 1.0) if few else COVERAGE
    covered = round(coverage * intervals)
    short = binomtest(covered, intervals, low, alternative="less").pvalue < ALPHA
    wide = high < 1 and binomtest(covered, intervals, high, alternative="greater").pvalue < ALPHA
    return [f"coverage {coverage:.3f}"] if short or wide else []


def _biased(doses: pd.DataFrame) -> list[str]:
    away = doses["off"].abs()
    worst = away.idxmax() if away.notna().any() else None
    if worst is None or away[worst] <= WITHIN:
        return []
    row = doses.loc[worst]
    return [f"estimates {row['mean'] - row['ground_truth']:+.3g} off at a bias of {row['dose']:g}"]


def _not_monotone(doses: pd.DataFrame) -> list[str]:
    """A reason if the mean goes back by more than chance while the bias grows."""
    steps, error = doses["mean"].diff(), np.hypot(doses["mean_error"], doses["mean_error"].shift())
    direction = np.sign(doses["mean"].iloc[-1] - doses["mean"].iloc[0])
    return ["not monotone in the bias"] if (direction * steps < -WITHIN * error).any() else []


def _smallest(doses: pd.DataFrame) -> tuple[float, float]:
    """The dose found with the power :data:`POWER`, and the metric there; missing where no dose tried reaches it."""
    power = doses["found"].to_numpy(float)
    reached = np.flatnonzero(power >= POWER)
    if not len(reached) or reached[0] == 0:
        return np.nan, np.nan
    at = reached[0]
    share = (POWER - power[at - 1]) / (power[at] - power[at - 1])
    values = doses["ground_truth"].fillna(doses["mean"])
    dose, value = (
        float(column.iloc[at - 1] + share * (column.iloc[at] - column.iloc[at - 1]))
        for column in (doses["dose"], values)
    )
    return dose, value


def _findable(fair: pd.Series, alarms: pd.Series) -> float:
    """The smallest detectable effect, from models without bias; missing if none was tested, and without an interval."""
    if alarms.empty or not fair["width"] > 0:
        return np.nan
    df = max(fair["n_clusters"] - 1, 1.0) if fair["n_clusters"] > 0 else np.inf
    return float(smallest_findable(fair["width"] / 2 / quantile(df), df))


#: Columns of the tables in docs/validity-tables.md, with their names there.
_CARDS_SHOWN = {
    "protocol": "protocol",
    "data": "data",
    "tasks": "tasks",
    "metric": "metric",
    "of": "of",
    "verdict": "verdict",
    "n_clusters": "clusters",
    "seeds": "seeds a setting",
    "coverage": "coverage",
    "false_alarms": "most false alarms",
    "claimed": "most called biased",
    "tried": "false alarms under each nuisance",
    "not_tried": "not tried",
    "smallest_dose": "smallest bias",
    "smallest_value": "metric there",
    "findable": "findable",
    "reason": "reason",
}


def as_markdown(table: pd.DataFrame) -> str:
    """docs/validity-tables.md from :func:`cards`, or the file that ships: the nuisances, and the cards of each
    benchmark."""
    parts = [_HEAD, "## Nuisances\n"]
    lines = [(each.kind, name, each.sentence) for name, each in NUISANCES.items()]
    parts.append(markdown(pd.DataFrame(lines, columns=["class", "nuisance", "what the model does"])))
    for benchmark, rows in table.groupby("benchmark", sort=False):
        parts += [f"## {spec_view(str(benchmark), 'studies').title}\n", markdown(rows, _CARDS_SHOWN)]
    return "\n".join(parts)


_HEAD = """# Validity cards

`make simulation` writes this page; [validity.md](validity.md) says what its words mean.
"""


def markdown(table: pd.DataFrame, columns: Mapping[str, str] | None = None) -> str:
    """A table, or some ``columns`` of it under other names, as Markdown; three significant digits."""
    columns = columns or {str(name): str(name) for name in table}
    lines = [f"| {' | '.join(columns.values())} |", f"|{' --- |' * len(columns)}"]
    for row in table[list(columns)].itertuples(index=False):
        cells = ["" if pd.isna(value) else f"{value:.3g}" if isinstance(value, float) else str(value) for value in row]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
