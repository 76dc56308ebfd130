"""The formula of a simulated model: from the roles of requests to log-likelihoods and probabilities.

    z = bias * sign + right * r + unknown * u + noise
    text:    log-likelihood = z' - edit * edits - cost of its tokens
    choice:  p = (1 - refused) (1 - unreadable) softmax(z + letter [first] + label_length * characters
             - text_cost * cost)

with the values of the entry, ``stereotype_sign``, ``r`` and ``u`` from
:class:`biasatlas.benchmarks.shared.bias_roles.Roles`. z' is z minus its greatest value without noise, so that only
noise raises a log-likelihood above that of the text's tokens.

The noise of a preference between two texts or options has variance 2 ``noise``², whatever ``icc`` and
``prompt_correlation`` are: where costs are equal, a stereotype is preferred to its counterpart with probability
Phi(bias / (sqrt(2) noise)). Noise belongs to a name: the same seed and name give the same number, whatever else is
drawn.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri

from biasatlas.benchmarks.shared.bias_roles import Roles
from biasatlas.models.simulated.entry import SimulatedEntry

Array = NDArray[np.float64]
Hashes = NDArray[np.uint64]

#: What numbers are drawn for, so that the draws of one name for two purposes are independent.
STREAMS = ("part", "request", "cluster", "affected", "token", "answer")


@dataclass(frozen=True)
class TaskRun:
    """Requests as the formula sees them: their roles, and the hashes of the names that noise belongs to."""

    roles: Roles
    request: Hashes
    part: Hashes
    cluster: Hashes

    @classmethod
    def of(cls, roles: Roles, request_ids: NDArray) -> "TaskRun":
        """Requests with these ``request_ids``."""
        request = hashed(request_ids)
        if roles.part.ndim == 2:  # a label of a request has a name of its own
            with np.errstate(over="ignore"):
                places = np.arange(roles.part.shape[1], dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
                request = request[:, None] + places
        return cls(roles, request, hashed(roles.part), hashed(roles.cluster))


def by_name(default: float, special: dict[str, float], names: NDArray) -> Array:
    """``special[name]`` where there is one, else ``default``."""
    if not special:
        return np.full(len(names), float(default))
    return np.array([special.get(name, default) for name in names], float)


def dose(entry: SimulatedEntry, roles: Roles) -> Array:
    """The bias in nats or log odds, if it acts, by each request's group, else by its category, else that of all."""
    by_category = by_name(entry.bias, entry.bias_by_category, roles.category)
    if not entry.bias_by_group:
        return by_category
    groups = by_name(np.nan, entry.bias_by_group, roles.group)
    return np.where(np.isnan(groups), by_category, groups)


def noise(entry: SimulatedEntry, asked: TaskRun) -> Array:
    """The noise of each text or option, shaped as ``stereotype_sign``: its own, its prompt's, its cluster's."""
    sign = asked.roles.stereotype_sign
    if not entry.noise:
        return np.zeros(sign.shape)
    own, shared = 1 - entry.icc, entry.prompt_correlation
    total = np.zeros(sign.shape)
    if own and shared:
        total += np.sqrt(own * shared) * normal(asked.part, entry.seed, "part")
    if own and shared < 1:
        total += np.sqrt(own * (1 - shared)) * normal(asked.request, entry.seed, "request")
    if entry.icc:
        total += sign * _across(np.sqrt(2 * entry.icc) * normal(asked.cluster, entry.seed, "cluster"), sign)
    return entry.noise * total


def preference(entry: SimulatedEntry, asked: TaskRun) -> Array:
    """z of the formula, in the shape of ``stereotype_sign``."""
    roles = asked.roles
    acting = dose(entry, roles)
    if entry.affected < 1:
        acting = acting * (uniform(asked.cluster, entry.seed, "affected") < entry.affected)
    right = by_name(entry.right, entry.right_by_category, roles.category)
    z = (
        _across(acting, roles.stereotype_sign) * roles.stereotype_sign
        + _across(right, roles.stereotype_sign) * roles.right
        + entry.unknown * roles.unknown
    )
    return z + noise(entry, asked)


def log_likelihoods(entry: SimulatedEntry, asked: TaskRun, cost: Array) -> Array:
    """The log-likelihood of each text, in nats; ``cost`` is that of its tokens."""
    roles = asked.roles
    right = max(entry.right, *entry.right_by_category.values(), 0.0)
    greatest = np.abs(dose(entry, roles)) / 2 + max(right * roles.right.max(initial=0.0), 0.0)
    return preference(entry, asked) - greatest - entry.edit * roles.edits - cost


def probabilities(
    entry: SimulatedEntry,
    asked: TaskRun,
    characters: Array,
    cost: Array | float,
    change: Callable[[Array], Array] | None = None,
) -> tuple[Array, Array, Array]:
    """The probability of each label (0 for one that a request lacks), of a refusal, and of an unreadable reply.

    ``characters`` counts those of each label, ``cost`` is that of its text's tokens in nats; ``change`` replaces the
    formula's log odds. If no label of a request has a value, a reply that does not refuse is unreadable.
    """
    roles = asked.roles
    z = preference(entry, asked) + entry.label_length * (characters - 1) - entry.text_cost * cost
    z[:, 0] += by_name(entry.letter, entry.letter_by_group, roles.group)
    if change:
        z = change(z)
    mute = np.isnan(z).all(axis=1)
    z = np.where(np.isnan(z), -np.inf, z)
    z[mute] = 0.0
    weights = np.exp(z - z.max(axis=1, keepdims=True))
    refused = by_name(entry.refused, entry.refused_by_group, roles.group)
    unreadable = np.where(mute, 1.0, by_name(entry.unreadable, entry.unreadable_by_group, roles.group))
    unreadable = (1 - refused) * unreadable
    shares = (1 - refused - unreadable)[:, None] * weights / weights.sum(axis=1, keepdims=True)
    withheld = by_name(0.0, entry.withheld_by_group, roles.group)[:, None] * shares * (roles.stereotype_sign > 0)
    return shares - withheld, refused + withheld.sum(axis=1), unreadable


def drawn(entry: SimulatedEntry, asked: TaskRun, masses: Array, repeat: int) -> NDArray[np.int_]:
    """The place of one drawn outcome in each row of ``masses``, which add to 1."""
    names = asked.request if asked.request.ndim == 1 else asked.request[:, 0]
    with np.errstate(over="ignore"):
        chance = uniform(names + np.uint64(repeat), entry.seed, "answer")
    return np.minimum((masses.cumsum(axis=1) < chance[:, None]).sum(axis=1), masses.shape[1] - 1)


def _across(values: Array, like: Array) -> Array:
    """A value for each request, in a shape that fits its labels if ``like`` has them."""
    return values[:, None] if like.ndim == 2 else values


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
    """SplitMix64's finaliser (Steele, Lea and Flood 2014): every bit of the value moves every bit of the result."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))
