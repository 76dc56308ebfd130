"""The section `benchmarks.{name}`: how one benchmark is run."""

from typing import Literal

from biasatlas.marks import Marked, field
from biasatlas.workflow.config.files import FilePath


class Run(Marked):
    """How one benchmark is run."""

    data: Literal["full", "sample"] = field(
        "answers",
        "full",
        description="The published data, or the small sample of our own that ships with the workflow.",
    )
    protocols: list[str] = field(
        "nothing", ["recommended"], min_length=1, description="Named option sets to run, one or more."
    )
    models: list[str] | None = field(
        "nothing", None, min_length=1, description="Names of models to measure; all if not given."
    )
    categories: list[str] | None = field(
        "answers", None, min_length=1, description="Categories to measure; all of the benchmark's if not given."
    )
    judge: str | None = field(
        "judgements",
        None,
        description="Name of the model that judges answers; tasks that need a judge are left out if not given.",
    )
    files: dict[str, FilePath] = field(
        "answers",
        {},
        description="Paths of files of your own by what they are: `variations` for DBB, `annotations` and `ratings` for "
        "McBE. The benchmark's page has their formats.",
    )
