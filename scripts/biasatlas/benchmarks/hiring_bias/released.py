"""The author's published replies, a JSON file each: the cases that they answer, and choice responses."""

import json
import tarfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.families.decisions import items
from biasatlas.benchmarks.families.rows import WHERE
from biasatlas.benchmarks.shared.parsing.named import PARSERS
from biasatlas.benchmarks.shared.predictions import responses
from biasatlas.errors import UserError
from biasatlas.sources import PACKED
from biasatlas.userfiles import listed

#: Folders of the first run, and of the second: Claude's baseline and placebos in another harness.
FIRST, SECOND = "results", "results-clean"
#: How the name of a release from the second run ends.
_CONTROLS = "-controls"


def import_responses(step: Step) -> pd.DataFrame:
    """A response for each case from the scores of one model; a reply without a score is unresolved.

    The two runs of a model are two releases: their harnesses differ, and a shift between them would be no bias.
    """
    model = step.release.removesuffix(_CONTROLS)
    name = (FIRST if model == step.release else SECOND) + PACKED
    if name not in step.files:
        raise UserError(f"{step.description.title}: expected {name}, found {listed(step.files)}. Fetch it again.")
    replies: defaultdict[str, list[str]] = defaultdict(list)
    for item, of, content in published(step.files[name]):
        if of == model:
            score = json.loads(content)["response"].get("score")
            replies[item].append("" if score is None else str(score))
    return responses(step.requests, replies, PARSERS)


def published(pack: Path) -> Iterator[tuple[str, str, bytes]]:
    """(item, model, content) of each reply in a packed folder, by the name of its file."""
    try:
        with tarfile.open(pack) as archive:
            for member in archive:
                variant, model, posting, _ = member.name.split("__")
                yield f"{variant}/{posting}", model, archive.extractfile(member).read()  # type: ignore[union-attr]
    except (tarfile.TarError, EOFError, OSError, ValueError) as error:
        raise UserError(f"{pack}: not the packed replies ({error}). Fetch them again.") from error


def read_items(step: Step) -> pd.DataFrame:
    """The cases of a folder of CSV files; or those that the published replies answer, whose documents say where their
    texts are."""
    pack = step.files.get(FIRST + PACKED)
    if pack is None:
        return items.read_items(step)
    names = sorted({tuple(item.split("/")) for item, _, _ in published(pack)})
    raw = pd.DataFrame(names, columns=["variant", "jd"])
    aside = " (its text stays in the author's repository)"
    texts = {WHERE: f"{pack}, " + raw["variant"], "posting": raw["jd"] + aside, "resume": raw["variant"] + aside}
    return items.cases(step.description, raw.assign(**texts))
