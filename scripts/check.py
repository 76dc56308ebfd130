"""Count what a run will ask, and what that may cost (rule check)."""

from functools import cache
from pathlib import Path

import pyarrow.parquet as pq

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.shared.order import asking_order, rounds_of
from biasatlas.files import read_csv, read_parquet, write_csv, write_text
from biasatlas.models.interface import ModelContext
from biasatlas.resources import Resources
from biasatlas.workflow import check, selection, sizes
from biasatlas.workflow.job import job
from biasatlas.workflow.plan import Planned

with job(snakemake) as this:
    config, given = this.config, this.given("counted")

    def resources(benchmark, protocol):
        """The files that a judge's requests are made from under a protocol."""
        return Resources(given["resources"][benchmark, protocol])

    @cache
    def counted(role, benchmark, protocol, task):
        """The requests of a role, which are the same for every model; None if they are not known yet."""
        if role == "answers":
            path = given["requests"].get((benchmark, protocol, task))
            return sizes.sizes(pq.ParquetFile(path).iter_batches()) if path else None
        if role == "parses":
            asked = [
                row for row in plan if row.role == "answers" and not row.reason and row[2:4] == (benchmark, protocol)
            ]
            return sizes.of_second_parse(
                [(counted(*row[1:5]), check.samples_choices(config.models[row.model])) for row in asked]
            )
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

    @cache
    def first_round(benchmark, protocol, task):
        """How many items the first round of a task has, and its requests."""
        requests, items = (
            read_parquet(given["requests"][benchmark, protocol, task]),
            read_parquet(given["items"][benchmark]),
        )
        items = items[items["item_id"].isin(requests["item_id"])]
        design = registry.spec_view(config.benchmark(benchmark), "rounds").design
        _, asked = rounds_of(items, design, asking_order(items, design))[0]
        return len(asked), sizes.of_frame(requests[requests["item_id"].isin(asked)])

    plan = [Planned(*row) for row in this.step["plan"]]
    rows: list[dict] = []
    silent = set()  # models and tasks without answers to judge
    for planned in plan:
        if planned.role == "judges" and (planned.of, *planned[2:5]) in silent:
            planned = planned._replace(reason=f"{planned.of} is asked none of what it would judge")
        requests = None if planned.reason else counted(planned.role, *planned[2:5])
        ready = tuple(
            Path(paths[planned.model]) for paths in (given["fetched"], given["checked"]) if planned.model in paths
        )
        context = ModelContext(planned.model, config.models[planned.model], ready)
        rows.append(check.row(planned, requests, context))
        if requests is not None and planned.role == "answers" and planned.benchmark in selection.in_rounds(config):
            items, first = first_round(*planned[2:5])
            rows[-1]["remark"] = check.in_rounds(rows[-1], items, check.row(planned, first, context))
        if planned.role == "answers" and rows[-1]["measured"] == "no":
            silent.add((planned.model, *planned[2:5]))
    if given["construction"]:
        writer = this.step["writer"]
        rows.append(check.writer_row(writer, config.models[writer], read_csv(given["construction"])))
    table = check.table(rows)
    write_csv(table, snakemake.output.table)
    write_text(check.text(table), snakemake.output.text)
