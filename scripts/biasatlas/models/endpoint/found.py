"""What the check of an endpoint found. Light to import: planning reads it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from biasatlas.errors import UserError


@dataclass(frozen=True)
class Found:
    """What the check of an endpoint found.

    ``n`` is how many answers it gives in one call (1: it takes no ``n``). ``samples``: whether equal calls at temperature
    1 are answered differently. ``seed``: whether that takes a seed. ``served_model`` is the name it answers under.
    """

    n: int = 1
    samples: bool = True
    seed: bool = False
    served_model: str = ""


def read_found(ready: Sequence[Path]) -> Found | None:
    """What an earlier check wrote, from the file among those that are ``ready``; None where there was none.

    Raises UserError for what is no such file.
    """
    path = next((path for path in ready if path.suffix == ".checked" and path.stat().st_size), None)
    if path is None:
        return None
    try:
        return TypeAdapter(Found).validate_json(path.read_bytes())
    except ValidationError:
        raise UserError(f"{path}: not what the check of an endpoint writes. Remove it and run again.") from None
