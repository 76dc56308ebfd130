"""Sampling settings that a protocol leaves to the model: those its entry names, or those of its checkpoint."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from biasatlas.errors import UserError

SETTINGS = ("temperature", "top_p", "top_k", "repetition_penalty")


def with_checkpoint(
    named: Mapping[str, Mapping[str, float]], generation_config: Mapping[str, Any]
) -> dict[str, Mapping[str, float]]:
    """The settings ``named`` in an entry, and under "checkpoint" those of its checkpoint's generation configuration."""
    return {**named, "checkpoint": {name: generation_config.get(name) for name in SETTINGS}}


def fill_sampling(requests: pd.DataFrame, sampling: Mapping[str, Mapping[str, float]], model: str) -> pd.DataFrame:
    """``requests`` with the settings that their column ``sampling`` names; requests without such a column are as before.

    ``sampling`` maps names to settings; a setting that a name leaves out stays missing, which changes nothing. Raises
    UserError for a name that the model's entry does not have.
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
