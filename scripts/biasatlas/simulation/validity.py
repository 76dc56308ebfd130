"""What many seeds say of a metric: the bias of its estimate, its coverage, its false alarms, its power; and its card."""

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from biasatlas.benchmarks.registry import spec_view
from biasatlas.simulation.studies import Headline, Study
from biasatlas.stats.intervals import quantile, smallest_findable

#: Bars of a headline: coverage from 20 clusters on and from 10, false alarms, and the power of what is findable.
COVERAGE, COVERAGE_FEW, FALSE_ALARMS, POWER = (0.93, 0.97), 0.90, 0.06, 0.80
#: Clusters from which the first bar of coverage holds.
MANY = 20
#: Level of the tests, and of what a count of seeds must speak against before a bar counts as missed.
ALPHA = 0.05
#: A setting's name in a reason, where it is no nuisance.
_NO_NUISANCE = {"bias-0": "without any nuisance"}
#: Seeds a setting that a headline can pass with.
SEEDS = 100
#: Standard errors from the ground truth within which an estimate counts as unbiased.
WITHIN = 3.0

SETTING_COLUMNS = (
    *("study", "benchmark", "protocol", "data", "tasks", "table", "metric", "of", "setting", "dose", "seeds"),
    *("n_clusters", "ground_truth", "mean", "mean_error", "coverage", "found", "width", "without_interval"),
)
CARD_COLUMNS = (
    *("benchmark", "protocol", "data", "study", "tasks", "metric", "of", "n_clusters", "seeds", "verdict"),
    *("coverage", "false_alarms", "mistakes", "smallest_dose", "smallest_value", "findable", "reason"),
)


def settings_table(
    name: str, study: Study, experiments: Mapping[str, pd.DataFrame], data: str = "full"
) -> pd.DataFrame:
    """A row for each headline and setting of a study on ``data``, from its ``experiments`` by setting; SETTING_COLUMNS.

    ``mean`` of the estimates over ``seeds`` with its standard error; ``coverage`` is the share of intervals that hold
    the truth, ``found`` that of estimates that are significant (their test, or an interval without the neutral value):
    false alarms where ``dose`` is 0, else power. Seeds without an interval are in neither, and counted. ``width`` is
    the median of the intervals.
    """
    rows = []
    for setting, runs in experiments.items():
        dose = float(study.settings()[setting].get("bias", 0.0))
        for place, headline in enumerate(study.headlines):
            one = runs[runs["headline"] == place]
            rows.append(
                {
                    **named(name, study, headline),
                    "data": data,
                    "setting": setting,
                    "dose": dose,
                    **_summary(one, study, headline),
                }
            )
    return pd.DataFrame(rows, columns=list(SETTING_COLUMNS))


def named(name: str, study: Study, headline: Headline) -> dict[str, str]:
    """The columns by which a headline of a study is told from others."""
    return {
        "study": name,
        "benchmark": study.benchmark,
        "protocol": study.protocol,
        "tasks": ", ".join(study.tasks),
        "table": headline.table,
        "metric": headline.metric,
        "of": ", ".join(value for value in headline.keys.values() if value != "all"),
    }


def _summary(runs: pd.DataFrame, study: Study, headline: Headline) -> dict[str, float]:
    measured = runs[runs["value"].notna()]
    with_interval = measured[measured["ci_low"].notna()]
    low, high, truth = with_interval["ci_low"], with_interval["ci_high"], with_interval["ground_truth"]
    holds = low.le(truth) & high.ge(truth) if truth.notna().all() and len(truth) else pd.Series(dtype=float)
    return {
        "seeds": len(runs),
        "n_clusters": measured["n_clusters"].median(),
        "ground_truth": runs["ground_truth"].iloc[0],
        "mean": measured["value"].mean(),
        "mean_error": measured["value"].std(ddof=1) / math.sqrt(len(measured)) if len(measured) > 1 else np.nan,
        "coverage": holds.mean() if len(holds) else np.nan,
        "found": _significant(measured, study, headline).mean(),
        "width": (high - low).median(),
        "without_interval": len(runs) - len(with_interval),
    }


def _significant(measured: pd.DataFrame, study: Study, headline: Headline) -> pd.Series:
    """1 where a finding would be reported, 0 where not, missing where neither test nor interval says."""
    if headline.test:
        return measured["p_value"].lt(ALPHA).astype(float).where(measured["p_value"].notna())
    neutral = spec_view(study.benchmark, "studies").metrics[headline.metric].neutral
    if neutral is None:
        return pd.Series(np.nan, measured.index)
    known = measured["ci_low"].notna()
    return ((measured["ci_low"] > neutral) | (measured["ci_high"] < neutral)).astype(float).where(known)


def cards(settings: pd.DataFrame) -> pd.DataFrame:
    """A validity card for each headline, from :func:`settings_table`; CARD_COLUMNS.

    ``coverage`` is over all doses, ``false_alarms`` the most under any nuisance, and ``mistakes`` names those under
    which they are more than the bar. ``smallest_dose`` is the bias in log odds or nats that is found with a power of
    80 %, between the doses tried by linear interpolation, ``smallest_value`` the ground truth there (its mean where
    none is known). ``findable`` is the distance from the neutral value that is found with that power by the
    width of intervals without bias alone, (t.975 + t.8) SE, whatever was tried. The ``verdict`` is "passed", or "descriptive" with the ``reason``: a bar counts as missed where the
    seeds speak against it at the level :data:`ALPHA`. With fewer than :data:`SEEDS` what missed none is "undecided".
    """
    keys = ["benchmark", "protocol", "data", "study", "tasks", "metric", "of"]
    rows = [dict(zip(keys, names, strict=True)) | _card(rows) for names, rows in settings.groupby(keys, sort=False)]
    return pd.DataFrame(rows, columns=list(CARD_COLUMNS))


def _card(rows: pd.DataFrame) -> dict[str, object]:
    doses = rows[rows["setting"].str.startswith("bias-")].sort_values("dose")
    fair = rows[rows["dose"] == 0]
    seeds, clusters = int(rows["seeds"].min()), rows["n_clusters"].median()
    alarms = fair.set_index("setting")["found"].dropna()
    # As many tests as there are nuisances: the level is shared out among them (Bonferroni).
    mistakes = [name for name, share in alarms.items() if _above(share, seeds, FALSE_ALARMS, ALPHA / len(alarms))]
    coverage = doses["coverage"].mean()
    reasons = [*_missed_coverage(coverage, seeds * len(doses), clusters), *_biased(doses), *_not_monotone(doses)]
    reasons += [f"false alarms ({', '.join(_NO_NUISANCE.get(str(name), str(name)) for name in mistakes)})"] * bool(
        mistakes
    )
    reasons += ["no interval"] * bool((doses["without_interval"] == doses["seeds"]).all())
    dose, value = _smallest(doses)
    return {
        "n_clusters": clusters,
        "seeds": seeds,
        "verdict": "descriptive" if reasons else "passed" if seeds >= SEEDS else "undecided",
        "coverage": coverage,
        "false_alarms": alarms.max() if len(alarms) else np.nan,
        "mistakes": ", ".join(str(name) for name in mistakes),
        "smallest_dose": dose,
        "smallest_value": value,
        "findable": _findable(doses.iloc[0], alarms),
        "reason": "; ".join(reasons),
    }


def _above(share: float, seeds: int, bar: float, level: float) -> bool:
    """Whether a share of ``seeds`` is above ``bar`` by more than chance."""
    return bool(binomtest(round(share * seeds), seeds, bar, alternative="greater").pvalue < level)


def _missed_coverage(coverage: float, intervals: int, clusters: float) -> list[str]:
    if np.isnan(coverage):
        return []
    few = clusters < MANY  # missing: not clustered, so many
    low, high = (COVERAGE_FEW, 1.0) if few else COVERAGE
    covered = round(coverage * intervals)
    short = binomtest(covered, intervals, low, alternative="less").pvalue < ALPHA
    wide = high < 1 and binomtest(covered, intervals, high, alternative="greater").pvalue < ALPHA
    return [f"coverage {coverage:.3f}"] if short or wide else []


def _biased(doses: pd.DataFrame) -> list[str]:
    off = (doses["mean"] - doses["ground_truth"]) / doses["mean_error"]
    worst = off.abs().idxmax() if off.notna().any() else None
    if worst is None or abs(off[worst]) <= WITHIN:
        return []
    row = doses.loc[worst]
    return [f"estimates {row['mean'] - row['ground_truth']:+.3g} off at a bias of {row['dose']:g}"]


def _not_monotone(doses: pd.DataFrame) -> list[str]:
    """A mean that goes back by more than chance when the bias grows."""
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
    """From the row of a study's models without bias; missing for what measures no bias, and without an interval."""
    if alarms.empty or not fair["width"] > 0:
        return np.nan
    df = max(fair["n_clusters"] - 1, 1.0) if fair["n_clusters"] > 0 else np.inf
    return float(smallest_findable(fair["width"] / 2 / quantile(df), df))


#: Columns of the tables in docs/validity.md, with their names there.
_CARDS_SHOWN = {
    "benchmark": "benchmark",
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
    "smallest_dose": "smallest bias",
    "smallest_value": "metric there",
    "findable": "findable",
    "reason": "reason",
}
_SETTINGS_SHOWN = {
    "metric": "metric",
    "of": "of",
    "setting": "setting",
    "ground_truth": "truth",
    "mean": "mean",
    "mean_error": "± (1 SE)",
    "coverage": "coverage",
    "found": "significant",
    "width": "width",
    "without_interval": "no interval",
}


def as_markdown(settings: pd.DataFrame) -> str:
    """The tables of docs/validity.md: the cards, then the settings of each study, of what is over all where it has that."""
    parts = ["### Cards\n", cards_as_markdown(cards(settings))]
    for (study, data), rows in settings.groupby(["study", "data"], sort=False):
        whole = rows["of"].str.split(", ").map(lambda names: bool({"overall", "All"} & set(names)))
        rows = rows[whole] if whole.any() else rows
        parts += [
            f"### `{study}`, {data} data, {rows['seeds'].min()} seeds a setting\n",
            markdown(rows, _SETTINGS_SHOWN),
        ]
    return "\n".join(parts)


def cards_as_markdown(table: pd.DataFrame) -> str:
    """The table of cards in docs/validity.md, from :func:`cards` or the file that ships."""
    return markdown(table, _CARDS_SHOWN)


def markdown(table: pd.DataFrame, columns: Mapping[str, str]) -> str:
    """Some ``columns`` of a table under other names, as Markdown; three significant digits."""
    lines = [f"| {' | '.join(columns.values())} |", f"|{' --- |' * len(columns)}"]
    for row in table[list(columns)].itertuples(index=False):
        cells = ["" if pd.isna(value) else f"{value:.3g}" if isinstance(value, float) else str(value) for value in row]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
