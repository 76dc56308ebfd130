"""Count what a run will ask, and what that may cost (rule check)."""

from functools import cache
from pathlib import Path

import pyarrow.parquet as pq

from biasatlas.benchmarks import registry
from biasatlas.files import read_csv, read_parquet, write_csv, write_text
from biasatlas.models.interface import Opening
from biasatlas.resources import Resources
from biasatlas.workflow import check, selection, sizes
from biasatlas.workflow.job import job
from biasatlas.workflow.plan import Planned

with job(snakemake) as this:
    given, params, config = snakemake.input, snakemake.params, this.config
    files = dict(zip(map(tuple, params.requests), given.requests, strict=True))
    items = dict(zip(params.judged, given.items_files, strict=True))
    fetched = dict(zip(params.fetched, given.fetched, strict=True))
    checked = {Path(path).stem: path for path in given.checked}
    shipped = iter(given.resources)
    shared = {name: {path: next(shipped) for path in paths} for name, paths in params.judged.items()}
    worded = list(zip(params.wording, given.wording, strict=True))

    def resources(benchmark, protocol):
        """What a judge's requests are made with under a protocol."""
        own = {name: path for (of, under, name), path in worded if (of, under) == (benchmark, protocol)}
        return Resources(shared[benchmark] | own)

    @cache
    def counted(role, benchmark, protocol, task):
        """The requests of a role, which are the same for every model; None where nobody knows them yet."""
        if role == "answers":
            path = files.get((benchmark, protocol, task))
            return sizes.sizes(pq.ParquetFile(path).iter_batches()) if path else None
        rows = read_parquet(items[benchmark])
        if role == "orders":
            categories = selection.categories(config, benchmark, task)
            return sizes.of_frame(
                registry.build_order_requests(config.benchmark(benchmark))(
                    rows, categories, resources(benchmark, protocol)
                )
            )
        requests, options = read_parquet(files[benchmark, protocol, task]), config.options(benchmark, protocol)
        return sizes.of_judge(
            config.benchmark(benchmark), rows, requests, task, options, resources(benchmark, protocol)
        )

    rows = []
    for planned in (Planned(*row) for row in params.plan):
        requests = None if planned.reason else counted(planned.role, *planned[2:5])
        ready = tuple(Path(paths[planned.model]) for paths in (fetched, checked) if planned.model in paths)
        rows.append(check.row(planned, requests, Opening(planned.model, config.models[planned.model], ready)))
    if given.construction:
        rows.append(check.writer_row(params.writer, config.models[params.writer], read_csv(given.construction)))
    table = check.table(rows)
    write_csv(table, snakemake.output.table)
    write_text(check.text(table), snakemake.output.text)
