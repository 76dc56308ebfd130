"""Summarise scores in one table (rules summarise_scores, summarise_released)."""

import math
from functools import partial

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.shared.missing_answer_bounds import with_missing_answer_bounds
from biasatlas.files import read_scores, write_table
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
    table = make(given.own) if given.own else with_missing_answer_bounds(make, read_scores(given.scores))
    spec = registry.spec_view(this.benchmark, "table", table=name)
    # What was printed is about the published data, and of models about the authors' protocols.
    if given.scores and (
        this.step["data"] not in PUBLISHED_DATA or ("model" in table and this.protocol not in spec.published_under)
    ):
        table = table.assign(published=None, difference=math.nan)
    if this.step["deviations"] and "model" in table:
        said = table["model"].map(this.step["deviations"])
        table = table.assign(
            reason=said.str.cat(table["reason"], sep="; ", na_rep="")
            .str.strip("; ")
            .where(said.notna(), table["reason"])
        )
    if this.step["part"] and "category" in table:  # of some categories: no number over all of them is published
        over_all = table["category"].isin(["overall", "All"])
        table = table.assign(
            published=table["published"].where(~over_all), difference=table["difference"].where(~over_all)
        )
    write_table(table, snakemake.output.table, spec.metrics)
    origin = provenance.of_table(
        given.provenance,
        given.resources,
        table=name,
        options=this.step["options"],
        code=this.step["code"],
        **({"own_file_sha256": provenance.sha256(given.checksums or given.own)} if given.own else {}),
    )
    provenance.write(origin, snakemake.output.provenance)
