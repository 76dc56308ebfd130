"""The section `benchmarks.{name}`: how one benchmark is run."""

from typing import Annotated, Literal

from pydantic import AfterValidator

from biasatlas.sources import PUBLISHED_DATA
from biasatlas.stages import StagedModel, field
from biasatlas.userfiles import shown
from biasatlas.workflow.config.files import FilePath

_NAMED = (*PUBLISHED_DATA, "sample")


def _data(value: str) -> str:
    """``value``, if it is one of _NAMED or reads as a path: so a misspelt word is not taken for a folder."""
    if value not in _NAMED and "/" not in value:
        raise ValueError(f"{shown(value)} is none of {', '.join(_NAMED)}; write a folder with a slash, as ./{value}")
    return value


class Run(StagedModel):
    """How one benchmark is run."""

    benchmark: str = field(
        "answers",
        "",
        description="The benchmark, where the section has a name of your choice, as `bbq-mine`, beside that of the "
        "benchmark itself: two data sets stand side by side; or the path of a description, as `./mine.yaml`. If not given, "
        "the section's name.",
    )
    data: Annotated[FilePath, AfterValidator(_data)] = field(
        "answers",
        "full",
        description="`full`, the published data; `sample`, a few items of our own that ship with the workflow; or a "
        "folder of yours, written with a slash, as `./data`, with files in the authors' format. DBB also has `released`, its "
        "authors' questions as they filled them, and `released_more`, their larger set.",
    )
    protocols: list[str] = field(
        "nothing", ["recommended"], min_length=1, description="Named option sets to run, one or more."
    )
    models: list[str] | None = field(
        "nothing", None, min_length=1, description="Names of models to measure; all if not given."
    )
    tasks: list[str] | None = field(
        "nothing",
        None,
        min_length=1,
        description="Tasks to measure; if not given, all of the benchmark's but DBB's `names`.",
    )
    categories: list[str] | None = field(
        "answers", None, min_length=1, description="Categories to measure; all of the benchmark's if not given."
    )
    effort: Literal["all", "rounds"] = field(
        "answers",
        "all",
        description="`all` asks everything. `rounds` asks a part, each template or writer with its share, then twice as "
        "much, and so on, and stops where every verdict over all categories is there (docs/rounds.md).",
    )
    judge: str | None = field(
        "judgements",
        None,
        description="Name of the model that judges answers; tasks that need a judge are left out if not given.",
    )
    parse_with: str | None = field(
        "tables",
        None,
        description="Name of a model that parses again the replies that could not be parsed, and 100 others of each model and "
        "task for comparison (docs/replies.md). Its parse stands in a column of its own; no score changes.",
    )
    skip_invalid: bool = field(
        "answers",
        False,
        description="McBE: instances that break the format, and other numbers of instances than were published, do not stop "
        "the run: the instances are `failed`, and counted so in every table.",
    )
    files: dict[str, FilePath] = field(
        "answers",
        {},
        description="Paths of files of your own by what they are: `variations` and `dataset` for DBB, `annotations` and `ratings` for "
        "McBE, `prompts` for the papers' printed prompts. The benchmark's page has their formats.",
    )

    @property
    def folder(self) -> str | None:
        """The folder of the user's own data; None where the data are published or ship."""
        return None if self.data in _NAMED else self.data

    @property
    def is_published(self) -> bool:
        """Whether the data are published."""
        return self.data in PUBLISHED_DATA
