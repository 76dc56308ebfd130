"""One setting of a study over many seeds: its headlines measured on models whose ground truth is known."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from biasatlas.simulation.ground_truth import ground_truth
from biasatlas.simulation.harness import Harness
from biasatlas.simulation.studies import Headline, Study

#: Columns of an experiment: what a row is about, its seed, its numbers, and the ground truth.
COLUMNS = ("metric", "of", "seed", "value", "ci_low", "ci_high", "n", "n_clusters", "p_value", "ground_truth")


#: Requests that are answered and scored together: several models at once if each is asked few.
REQUESTS = 60_000


def run(study: Study, setting: str, bench: Harness, seeds: Iterable[int]) -> pd.DataFrame:
    """A row for each seed and headline, with :data:`COLUMNS`; what a table does not have is missing."""
    truths = [ground_truth(bench, study.entry(setting, 0, bench.groups), headline) for headline in study.headlines]
    entries = {str(seed): study.entry(setting, seed, bench.groups) for seed in seeds}
    together = max(1, REQUESTS // sum(map(len, bench.requests.values())))
    rows: list[dict] = []
    for some in _batches(list(entries.items()), together):
        scores = bench.scores_of(dict(some))
        for name in dict.fromkeys(headline.table for headline in study.headlines):
            referenced_names = [headline for headline in study.headlines if headline.table == name]
            table = bench.table(name, _put_together(scores, referenced_names))
            rows += [
                {"headline": study.headlines.index(headline), "seed": int(seed), **_measured(of_model, headline)}
                for seed, of_model in table.groupby("model")
                for headline in referenced_names
            ]
    runs = pd.DataFrame(rows).sort_values(["seed", "headline"], ignore_index=True)
    return labelled(study, runs.assign(ground_truth=np.array(truths)[runs["headline"]]))


def labelled(study: Study, runs: pd.DataFrame) -> pd.DataFrame:
    """``runs``, whose column ``headline`` has numbers of the study's headlines, with :data:`COLUMNS`."""
    names = pd.DataFrame([(headline.metric, headline.of) for headline in study.headlines], columns=["metric", "of"])
    return names.loc[runs["headline"]].reset_index(drop=True).join(runs.reset_index(drop=True))[list(COLUMNS)]


def _batches(entries: list, size: int) -> list[list]:
    return [entries[start : start + size] for start in range(0, len(entries), size)]


def _put_together(scores: pd.DataFrame, headlines: Sequence[Headline]) -> pd.DataFrame:
    """``scores`` with all groups merged that no headline is about, so that a table need not estimate each. Numbers over
    all groups stay the same."""
    for name in dict.fromkeys(name for headline in headlines for name in headline.keys):
        if name in scores:
            wanted = {headline.keys[name] for headline in headlines if name in headline.keys}
            scores = scores.assign(**{name: scores[name].where(scores[name].isin(wanted), "others")})
    return scores


def _measured(table: pd.DataFrame, headline: Headline) -> dict[str, float]:
    rows = table[(table[list(headline.keys)] == list(headline.keys.values())).all(axis=1)]
    found = rows[rows["metric"] == headline.metric]
    if len(found) != 1:
        raise ValueError(f"{headline}: {len(found)} rows of the table; a headline is one")
    columns = ("value", "ci_low", "ci_high", "n", "n_clusters")
    values = {name: float(found[name].iloc[0]) if name in found else np.nan for name in columns}
    if "lower_bound" in found and found["lower_bound"].notna().all():  # as in verdicts, missing answers widen it
        values["ci_low"] += min(float(found["lower_bound"].iloc[0]) - values["value"], 0.0)
        values["ci_high"] += max(float(found["upper_bound"].iloc[0]) - values["value"], 0.0)
    tests = rows.loc[rows["metric"] == headline.test, "value"]
    return values | {"p_value": float(tests.iloc[0]) if len(tests) else np.nan}
