"""Write the site (rule write_report)."""

import datetime
import shutil
from pathlib import Path

from biasatlas.benchmarks.comparisons.cards import read_cards
from biasatlas.benchmarks.shared.styles import styles
from biasatlas.files import read_metadata
from biasatlas.report.run import Comparison, ModelRun, Run, Study, TaskRun
from biasatlas.report.site import PAGES, Site
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
    page, packed = Path(snakemake.output[0]), snakemake.output.get("packed", "").removesuffix(".tar.gz")
    page = Path(packed, "index.html") if packed else page
    Site(study, styles(list(study.models)), page.parent / PAGES).write(page)
    if packed:
        shutil.make_archive(packed, "gztar", packed)
