"""Noise that belongs to a name: the same seed and name give the same number, whatever else is drawn."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri

#: What numbers are drawn for, so that the draws of one name for two purposes are independent.
STREAMS = ("part", "request", "cluster", "affected", "token", "answer")

Hashes = NDArray[np.uint64]


def hashed(names: NDArray) -> Hashes:
    """A 64-bit hash of each name, in the shape of ``names``."""
    return pd.util.hash_array(names.ravel().astype(object)).reshape(names.shape)


def uniform(names: Hashes, seed: int, stream: str) -> NDArray[np.float64]:
    """Uniform draws in (0, 1), one for each of ``names``."""
    with np.errstate(over="ignore"):
        start = np.array([seed * len(STREAMS) + STREAMS.index(stream) + 1], np.uint64)
        mixed = _mix(names ^ _mix(start * np.uint64(0x9E3779B97F4A7C15)))
    return ((mixed >> np.uint64(11)).astype(float) + 0.5) / 2.0**53


def normal(names: Hashes, seed: int, stream: str) -> NDArray[np.float64]:
    """Standard normal draws, one for each of ``names``."""
    return ndtri(uniform(names, seed, stream))


def _mix(value: Hashes) -> Hashes:
    """The finaliser of SplitMix64 (Steele, Lea and Flood 2014): every bit of the value moves every bit of the result."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))
