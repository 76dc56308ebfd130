"""Roles of a request's texts or options (stereotype, counterpart, right), from which simulated models answer.

A benchmark's module ``bias_roles`` assigns them to its own requests.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Roles:
    """The roles of n requests: for likelihoods a number for each text, for choices one for each label, (n, labels).

    ``stereotype_sign``  0.5 for the stereotype, -0.5 for its counterpart, values between for levels between them, 0 for
                         neither; a difference of 1 is a whole bias. NaN: the request has fewer labels.
    ``right``  1 for a right or sensible answer and 0 for any other; where answers are numbers, minus the distance
    ``unknown``  1 for the option that says it cannot be known
    ``part``   names the question, in whatever words or order: requests about the same part share a part of their noise
    ``edits``  how many places of a text were changed after its writer wrote it
    ``cluster``, ``category``, ``group``  the sample that a request belongs to, and the group it is about
    """

    stereotype_sign: NDArray[np.float64]
    right: NDArray[np.float64]
    unknown: NDArray[np.float64]
    part: NDArray[np.object_]
    edits: NDArray[np.float64]
    cluster: NDArray[np.object_]
    category: NDArray[np.object_]
    group: NDArray[np.object_]


def text_roles(
    about: pd.DataFrame,
    part: pd.Series,
    stereotype_sign: ArrayLike,
    *,
    right: Sequence[float] = (),
    edits: Sequence[float] = (),
) -> Roles:
    """Roles of texts. ``about`` has ``cluster``, ``category`` and ``group``; ``right`` and ``edits`` default to 0."""
    zeros = np.zeros(len(about))
    return Roles(
        stereotype_sign=np.asarray(stereotype_sign, float),
        right=np.asarray(right, float) if len(right) else zeros,
        unknown=zeros,
        part=part.to_numpy(object),
        edits=np.asarray(edits, float) if len(edits) else zeros,
        **_belongs(about),
    )


def label_roles(
    about: pd.DataFrame,
    part: NDArray,
    stereotype_sign: NDArray,
    *,
    right: NDArray | None = None,
    unknown: NDArray | None = None,
) -> Roles:
    """Roles of choices, arrays of (requests, labels). ``about`` has ``cluster``, ``category`` and ``group``."""
    zeros = np.zeros(stereotype_sign.shape)
    return Roles(
        stereotype_sign=stereotype_sign,
        right=zeros if right is None else right,
        unknown=zeros if unknown is None else unknown,
        part=part,
        edits=np.zeros(len(about)),
        **_belongs(about),
    )


def sentence_roles(
    requests: pd.DataFrame, about: pd.DataFrame, stereotype_sign: dict[str, float], right: dict[str, float]
) -> Roles:
    """Roles of the choices that :func:`biasatlas.benchmarks.shared.prompting.sentence_choices` builds, by sentence."""
    orders = [json.loads(order) for order in requests["order"]]
    item_ids = requests["item_id"]
    return label_roles(
        about,
        np.array([[f"{item}/{name}" for name in order] for item, order in zip(item_ids, orders, strict=True)], object),
        np.array([[stereotype_sign[name] for name in order] for order in orders]),
        right=np.array([[right[name] for name in order] for order in orders]),
    )


def evenly(place: int, count: int) -> float:
    """The value of a place: evenly spaced from 0.5 for the first of ``count`` places to -0.5 for the last."""
    return 0.5 - place / max(count - 1, 1)


def _belongs(about: pd.DataFrame) -> dict[str, NDArray]:
    return {name: about[name].to_numpy(object) for name in ("cluster", "category", "group")}
