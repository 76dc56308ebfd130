"""Sampling settings that a protocol leaves to the model: those its entry names, or those of its checkpoint."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from biasatlas.errors import UserError

SETTINGS = ("temperature", "top_p", "top_k", "repetition_penalty")


#: Names of settings -> their values; one that is left out or None stays as it is, which changes nothing.
Settings = Mapping[str, Mapping[str, float | None]]


def with_checkpoint(named: Settings, generation_config: Mapping[str, Any]) -> Settings:
    """The settings ``named`` in an entry, and under "checkpoint" those of its checkpoint's generation configuration."""
    return {**named, "checkpoint": {name: generation_config.get(name) for name in SETTINGS}}


def fill_sampling(requests: pd.DataFrame, sampling: Settings, model: str) -> pd.DataFrame:
    """``requests`` with the settings that their column ``sampling`` names; without that column as before.

    Raises UserError for a name that the ``model``'s entry does not have.
    """
    if "sampling" not in requests:
        return requests
    named = requests["sampling"].where(requests["temperature"].isna())
    lacking = sorted(set(named.dropna()) - set(sampling))
    if lacking:
        raise UserError(
            f"model {model}: the protocol asks for the sampling settings {lacking[0]!r}, which its entry does not have "
            f"({', '.join(sampling) or 'it has none'}). Add models.{model}.sampling.{lacking[0]}, or choose a protocol "
            "with settings of its own."
        )
    filled = requests.copy()
    for setting in SETTINGS:
        values = named.map({name: values.get(setting) for name, values in sampling.items()}).astype(float)
        filled[setting] = filled[setting].astype(float).where(values.isna(), values)
    return filled
