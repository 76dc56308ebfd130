# Tables and figures of each benchmark, the check of the papers' tables, and the report.
#   REQUIRED INPUTS: task_scores/{model}/{benchmark}/{protocol}/{task}.parquet; for the report all files behind these
#   OUTPUTS: tables/{benchmark}/{protocol}/{table}.csv, figures/{benchmark}/{protocol}/{figure}.svg,
#            replication/{benchmark}/{table}.csv, replication/report.* and claims.*, report/index.html, report/pages/

from biasatlas.workflow.identity import digest_of
from biasatlas.workflow.sites import site_tree

PUBLISHED, REPLICATED, SITE = find.shipped("published/*"), find.replicated_tables(), site_tree(targets)
PAGE_FILES = sorted((ROOT / "scripts/biasatlas/report").glob("[tw]e*/*"))
PAGES = directory(PATHS.report_pages)
PAGE = report(PATHS.report, caption="captions/report.rst", category="report")
# The S3 plugin does not see a folder that a job elsewhere has made, so a pod makes the site as one file.
PACKED = bool(workflow.storage_settings.default_storage_prefix)


rule summarise_scores:
    """Summarise scores, or a file of the user's own, in one table, published values beside ours."""
    input:
        unpack(find.table),
    output:
        table=report(PATHS.table, **shown("table {table}")),
        provenance=report(PATHS.table_from, **shown("provenance of table {table}")),
    log:
        PATHS.log("summarise_scores", "benchmark", "protocol", "table"),
    benchmark:
        PATHS.run_time("summarise_scores", "benchmark", "protocol", "table")
    wildcard_constraints:
        # All tables but that of outcomes, which has a rule of its own.
        table=any_of(name for name in named("tables") if name != OUTCOMES),
    conda:
        "../envs/data.yaml"
    params:
        step=find.step(
            "tables",
            "summarise_scores",
            models=find.models,
            data=find.data,
            part=find.is_partial_data,
            deviations=find.deviations,
            stops=find.table_stops,
            published_as=find.published_names(find.models),
        ),
    script:
        "../scripts/summarise_scores.py"


use rule summarise_scores as summarise_released with:
    output:
        table=PATHS.released_table,
        provenance=PATHS.released_table_from,
    log:
        PATHS.log("summarise_released", "benchmark", "table"),
    benchmark:
        PATHS.run_time("summarise_released", "benchmark", "table")


rule summarise_outcomes:
    """Count the outcome of every answer, and list the replies that could not be parsed."""
    input:
        items_file=PATHS.items,
        answers=find.files_for(find.answers),
        second_parse=find.second_parse,
    output:
        table=report(PATHS.outcomes, **shown("table replies")),
        provenance=PATHS.outcomes_from,
        unparsed=PATHS.unparsed,
        examples=PATHS.unparsed_examples,
    log:
        PATHS.log("summarise_outcomes", "benchmark", "protocol"),
    benchmark:
        PATHS.run_time("summarise_outcomes", "benchmark", "protocol")
    conda:
        "../envs/data.yaml"
    params:
        step=find.step("", "summarise_outcomes", answers=find.answers, parse_with=find.parse_with),
    script:
        "../scripts/summarise_outcomes.py"


rule draw_figure:
    """Draw a figure from the tables of its benchmark."""
    input:
        tables=find.files_for(find.figure_tables),
        cards=files(CARDS),
        font=files(FONT),
    output:
        figure=report(PATHS.figure, **shown("figure {figure}")),
    log:
        PATHS.log("draw_figure", "benchmark", "protocol", "figure"),
    conda:
        "../envs/figures.yaml"
    params:
        step=find.step(
            "",
            "draw_figure",
            tables=find.figure_tables,
            cards=CARDS,
            colours=find.colours(find.models),
            drawn_as=find.drawn_as,
        ),
    script:
        "../scripts/draw_figure.py"


use rule draw_figure as draw_released with:
    output:
        figure=PATHS.released_figure,
    log:
        PATHS.log("draw_released", "benchmark", "figure"),


rule replicate:
    """Check what public outputs give against every printed table and figure, by cell, and the papers' claims."""
    input:
        tables=files(REPLICATED),
        figures=[figure for name in CONFIG.benchmarks for figure in find.released_figures(name)],
        resources=files(PUBLISHED),
    output:
        replication=PATHS.replication,
        text=PATHS.replication_text,
        claims=PATHS.claims,
        claims_text=PATHS.claims_text,
    log:
        PATHS.log("replicate"),
    localrule: True
    conda:
        "../envs/data.yaml"
    params:
        step=find.step(
            "",
            "replicate",
            tables=REPLICATED,
            resources=PUBLISHED,
            shipped=find.digest(PUBLISHED),
            published_as=find.published_names(find.models),
        ),
    script:
        "../scripts/replicate.py"


rule replicate_part:
    """Put one paper, or one of its tables or figures, beside what public outputs give, and draw its figures."""
    input:
        tables=find.files_for(find.part_tables),
        figures=find.part_figures,
        resources=files(PUBLISHED),
    output:
        text=PATHS.replicated_part,
    log:
        PATHS.log("replicate_part", "benchmark", "part"),
    localrule: True
    conda:
        "../envs/data.yaml"
    params:
        step=find.step(
            "",
            "replicate_part",
            tables=find.part_tables,
            resources=PUBLISHED,
            shipped=find.digest(PUBLISHED),
            published_as=find.published_names(find.models),
        ),
    script:
        "../scripts/replicate_part.py"


rule write_report:
    """Write the site: an overview, a page for each benchmark and model, and the items behind every number."""
    input:
        site=files(SITE),
        cards=files(CARDS),
        resources=files(PUBLISHED),
        font=files(FONT),
    output:
        **({"packed": PATHS.report_packed} if PACKED else {"page": PAGE, "pages": PAGES}),
    log:
        PATHS.log("write_report"),
    localrule: not PACKED  # yet a SLURM job, with its group
    conda:
        "../envs/figures.yaml"
    params:
        step=find.step(
            "",
            "write_report",
            site=SITE,
            resources=PUBLISHED,
            cards=CARDS,
            shipped=find.digest(PUBLISHED),
            page=digest_of(PAGE_FILES),
        ),
    script:
        "../scripts/write_report.py"


if PACKED:

    rule unpack_report:
        """Unpack the site that a job elsewhere has made."""
        input:
            packed=PATHS.report_packed,
        output:
            page=PAGE,
            pages=PAGES,
        localrule: True
        shell:
            "tar -xf {input.packed} -C $(dirname {output.page})"


# Words to type: `snakemake --cores 2 twbias`; `--list-target-rules` lists them. A single table is typed as its path.


for benchmark in CONFIG.benchmarks:

    rule:
        """Every table and figure of the benchmark of this name."""
        name:
            benchmark
        input:
            targets.all_tables(benchmark),
            targets.all_figures(benchmark),
