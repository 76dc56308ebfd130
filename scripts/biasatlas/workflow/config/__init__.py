"""The configuration of a run: read, checked, and its names checked against what they name."""

import os
from collections.abc import Iterable
from typing import Any

from biasatlas.errors import UserError
from biasatlas.validation import validated
from biasatlas.workflow.config.names import unknown_names
from biasatlas.workflow.config.schema import Config


def load_config(raw: dict[str, Any], files: Iterable[str | os.PathLike] = ()) -> Config:
    """Validate a configuration as Snakemake merged it from ``files``. Raises UserError with every fault, one a line."""
    where = ", ".join(map(str, files)) or "configuration"
    config = validated(Config, raw, where)
    faults = list(unknown_names(config))
    if faults:
        raise UserError("\n".join(f"{where}: {fault}" for fault in faults))
    return config
