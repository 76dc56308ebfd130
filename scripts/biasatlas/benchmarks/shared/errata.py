"""Corrections of single items of published data: an overlay, each with its reason; the data stay as they are."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pydantic import model_validator

from biasatlas.errors import UserError
from biasatlas.stages import StagedModel, field
from biasatlas.validation import unknown, validated

if TYPE_CHECKING:
    import pandas as pd

    from biasatlas.resources import Resources


class Erratum(StagedModel):
    """A correction of some items."""

    items: list[str] = field("answers", min_length=1, description="Ids of the items.")
    set: dict[str, str] = field("answers", {}, description="Column -> its right value.")
    replace: dict[str, dict[str, str]] = field("answers", {}, description="Column -> wrong words -> right words.")
    reason: str = field("nothing", min_length=1, description="Why the data are wrong.")

    @model_validator(mode="after")
    def _something(self) -> "Erratum":
        if not self.set and not self.replace:
            raise ValueError("give what to `set` or to `replace`")
        return self


def corrected(rows: "pd.DataFrame", ids: "pd.Series", errata: Iterable[Erratum], where: str) -> "pd.DataFrame":
    """``rows`` as they should be; ``ids`` name the item of each.

    Items that are not there are passed over, as of a sample. Raises UserError for a column that is not there, and for
    an item with none of the words to replace: the data were corrected, or are others.
    """
    rows = rows.copy()
    for erratum in errata:
        here = ids.isin(erratum.items).to_numpy()
        for column in [*erratum.set, *erratum.replace]:
            if column not in rows:
                raise UserError(f"{where}: {unknown('errata', column, 'a column', rows)}")
        for column, value in erratum.set.items():
            rows.loc[here, column] = value
        mended = here & bool(erratum.set)
        for column, words in erratum.replace.items():
            for wrong, right in words.items():
                mended |= here & rows[column].str.contains(wrong, regex=False).to_numpy()
                rows.loc[here, column] = rows.loc[here, column].str.replace(wrong, right, regex=False)
        if (here & ~mended).any():
            item = ids[here & ~mended].iloc[0]
            raise UserError(f"{where}: errata: item {item} has none of the words to replace. Leave it out.")
    return rows


def shipped_errata(resources: "Resources", name: str) -> list[Erratum]:
    """The errata in ``resources/{name}``."""
    return [validated(Erratum, raw, name) for raw in resources.yaml(name)]
