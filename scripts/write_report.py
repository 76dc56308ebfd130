"""Write the site (rule write_report)."""

import datetime
from pathlib import Path

from biasatlas.benchmarks.comparisons.cards import read_cards
from biasatlas.benchmarks.shared.styles import styles
from biasatlas.files import read_metadata
from biasatlas.report.run import Comparison, ModelRun, Run, Study, TaskRun
from biasatlas.report.site import Site
from biasatlas.workflow.job import job
from biasatlas.workflow.provenance import workflow_version

with job(snakemake) as this:
    site = this.given("site")
    for run in site["runs"]:
        run["asked"] = [
            TaskRun(**{**task, "answers": [ModelRun(**answers) for answers in task["answers"]]})
            for task in run["asked"]
        ]
    study = Study(
        [Run(**run) for run in site["runs"]],
        site["models"],
        [Comparison(**each) for each in site["comparisons"]],
        {payer: [read_metadata(part["path"])[part["task"]] for part in parts] for payer, parts in site["paid"].items()},
        site["missing"],
        read_cards(this.given("cards")),
        site["replication"],
        site["claims"],
        this.resources,
        site["summaries"],
        site["contributions"],
        workflow_version(),
        datetime.datetime.now(datetime.UTC).date().isoformat(),
    )
    Site(study, styles(list(study.models)), Path(snakemake.output.pages)).write(Path(snakemake.output.page))
