"""What sampling alone makes of DBB's bias score: the chance to reach the threshold when the identity has no effect.

Given how often an option was drawn under both identities together, m of n_1 + n_2 times, the draws under the first are
hypergeometric if neither identity has an effect, whatever the option's probability. So the chance below needs no
estimate of that probability, and its mean over instances is unbiased for the rate that noise produces. The same chance
at the observed difference is the p-value of Fisher's exact test, with differences ordered by size.
"""

import numpy as np
import pandas as pd
import scipy

from biasatlas.benchmarks.contract import metric

#: Frequencies are not exact in binary: 20 points may be 19.999999999999996.
_TOLERANCE = 1e-9


@metric("p_value")
def noise_floor(scores: pd.DataFrame, threshold: float) -> pd.DataFrame:
    """For each row of ``scores`` (columns p_1, p_2, draws_1, draws_2), if the identity had no effect:

    - ``chance``: the probability that its bias score reaches ``threshold`` points
    - ``chance_score``: the mean of its bias score where it does, and 0 where it does not
    - ``p_value``: the probability of a bias score at least as large as the observed: Fisher's exact test, 0 to 1

    All three are missing where a probability is, or is exact (its draws are missing).
    """
    result = pd.DataFrame(np.nan, index=scores.index, columns=["chance", "chance_score", "p_value"])
    draws = scores[["draws_1", "draws_2"]]
    sampled = draws.notna().all(axis=1) & (draws > 0).all(axis=1) & scores[["p_1", "p_2"]].notna().all(axis=1)
    if not sampled.any():
        return result
    sizes = draws[sampled].to_numpy(int)
    hits = (scores.loc[sampled, ["p_1", "p_2"]].to_numpy() * sizes).round().astype(int)
    cases, case_of_row = np.unique(np.column_stack([sizes, hits]), axis=0, return_inverse=True)
    result.loc[sampled] = np.array([_case(*case, threshold) for case in cases])[case_of_row.ravel()]
    return result


def _case(draws_1: int, draws_2: int, hits_1: int, hits_2: int, threshold: float) -> tuple[float, float, float]:
    """(chance, chance_score, p_value) where the option was drawn ``hits_1`` of ``draws_1`` and ``hits_2`` of ``draws_2``."""
    hits = hits_1 + hits_2
    first = np.arange(max(0, hits - draws_2), min(draws_1, hits) + 1)
    mass = scipy.stats.hypergeom.pmf(first, draws_1 + draws_2, hits, draws_1)
    score = np.abs(first / draws_1 - (hits - first) / draws_2) * 100
    over = score >= threshold - _TOLERANCE
    observed = abs(hits_1 / draws_1 - hits_2 / draws_2) * 100
    return mass[over].sum(), (mass * score)[over].sum(), min(1.0, mass[score >= observed - _TOLERANCE].sum())
