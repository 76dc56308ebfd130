"""Cases of the published replies, by name: the texts of résumés and postings are not fetched."""

import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.families.cells import WHERE
from biasatlas.benchmarks.families.decisions import items
from biasatlas.benchmarks.hiring_bias.released import FIRST, published
from biasatlas.sources import PACKED


def read_items(step: Step) -> pd.DataFrame:
    """The cases of a folder of CSV files; or those that published replies are to, whose document says where its text
    is."""
    pack = step.files.get(FIRST + PACKED)
    if pack is None:
        return items.read_items(step)
    names = sorted({tuple(item.split("/")) for item, _, _ in published(pack)})
    raw = pd.DataFrame(names, columns=["variant", "jd"])
    aside = " (its text stays in the author's repository)"
    texts = {WHERE: f"{pack}, " + raw["variant"], "posting": raw["jd"] + aside, "resume": raw["variant"] + aside}
    return items.cases(step.description, raw.assign(**texts))
