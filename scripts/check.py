"""Count what a run will ask, and what that may cost (rule check)."""

from functools import cache
from pathlib import Path

import pyarrow.parquet as pq

from biasatlas.benchmarks import registry
from biasatlas.files import read_csv, read_parquet, write_csv, write_text
from biasatlas.models.interface import ModelContext
from biasatlas.resources import Resources
from biasatlas.workflow import check, selection, sizes
from biasatlas.workflow.job import job
from biasatlas.workflow.plan import Planned

with job(snakemake) as this:
    config, given = this.config, this.given("counted")

    def resources(benchmark, protocol):
        """What a judge's requests are made with under a protocol."""
        return Resources(given["resources"][benchmark, protocol])

    @cache
    def counted(role, benchmark, protocol, task):
        """The requests of a role, which are the same for every model; None where nobody knows them yet."""
        if role == "answers":
            path = given["requests"].get((benchmark, protocol, task))
            return sizes.sizes(pq.ParquetFile(path).iter_batches()) if path else None
        if role == "parses":
            return None
        rows = read_parquet(given["items"][benchmark])
        if role == "orders":
            categories = selection.categories(config, benchmark, task)
            return sizes.of_frame(
                registry.build_order_requests(config.benchmark(benchmark))(
                    rows, categories, resources(benchmark, protocol)
                )
            )
        requests, options = (
            read_parquet(given["requests"][benchmark, protocol, task]),
            config.options(benchmark, protocol),
        )
        return sizes.of_judge(
            config.benchmark(benchmark), rows, requests, task, options, resources(benchmark, protocol)
        )

    rows: list[dict] = []
    silent = set()  # of whose answers there will be none to judge
    for planned in (Planned(*row) for row in this.step["plan"]):
        if planned.role == "judges" and (planned.of, *planned[2:5]) in silent:
            planned = planned._replace(reason=f"{planned.of} is asked none of what it would judge")
        requests = None if planned.reason else counted(planned.role, *planned[2:5])
        ready = tuple(
            Path(paths[planned.model]) for paths in (given["fetched"], given["checked"]) if planned.model in paths
        )
        rows.append(check.row(planned, requests, ModelContext(planned.model, config.models[planned.model], ready)))
        if planned.role == "answers" and rows[-1]["measured"] == "no":
            silent.add((planned.model, *planned[2:5]))
    if given["construction"]:
        writer = this.step["writer"]
        rows.append(check.writer_row(writer, config.models[writer], read_csv(given["construction"])))
    table = check.table(rows)
    write_csv(table, snakemake.output.table)
    write_text(check.text(table), snakemake.output.text)
