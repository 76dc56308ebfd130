"""Summarise scores in one table (rules summarise_scores, summarise_released)."""

import math
from functools import partial

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.shared.estimates import with_missing_answer_bounds
from biasatlas.benchmarks.shared.stops import Stop, in_rounds
from biasatlas.errors import UserError
from biasatlas.files import read_task_scores, write_table
from biasatlas.sources import PUBLISHED_DATA
from biasatlas.workflow import provenance
from biasatlas.workflow.job import job

with job(snakemake) as this:
    name, given = snakemake.wildcards.table, snakemake.input
    make = partial(
        registry.tables(this.benchmark)[name],
        options=this.options,
        published=this.resources.published,
        published_as=this.step["published_as"],
    )
    stops = {model: Stop.read(path) for model, path in this.given("stops").items()}
    spec = registry.spec_view(this.benchmark, "table", table=name)
    of_all = [metric for metric, declared in spec.metrics.items() if declared.whole]
    if spec.tables[name].tasks and not given.scores:  # after jobs failed, see biasatlas.workflow.failures
        raise UserError(f"table {name} of {this.name} ({this.protocol}): no model has scores for it; mend what failed")
    bounded = partial(with_missing_answer_bounds, make)
    table = make(given.own) if given.own else in_rounds(bounded, read_task_scores(given.scores), stops, of_all)
    # Printed numbers are about the published data and, if about models, about the authors' protocols.
    if given.scores and (
        this.step["data"] not in PUBLISHED_DATA or ("model" in table and this.protocol not in spec.published_under)
    ):
        table = table.assign(published=None, difference=math.nan)
    remarks = {model: stop.words for model, stop in stops.items() if stop.is_early}
    for model, deviation in this.step["deviations"].items():
        remarks[model] = "; ".join(filter(None, (deviation, remarks.get(model))))
    if remarks and "model" in table:
        said = table["model"].map(remarks).astype(object)
        table = table.assign(
            reason=said.str.cat(table["reason"], sep="; ", na_rep="")
            .str.strip("; ")
            .where(said.notna(), table["reason"])
        )
    if this.step["part"] and "category" in table:  # no number over only some categories is published
        over_all = table["category"].isin(["overall", "All"])
        table = table.assign(
            published=table["published"].where(~over_all), difference=table["difference"].where(~over_all)
        )
    write_table(table, snakemake.output.table, spec.metrics)
    origin = provenance.of_table(
        given.scores,
        given.resources,
        table=name,
        options=this.step["options"],
        code=this.step["code"],
        **({"own_file_sha256": provenance.sha256(given.checksums or given.own)} if given.own else {}),
    )
    provenance.write(origin, snakemake.output.provenance)
