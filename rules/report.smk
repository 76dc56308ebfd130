# The report, and the check of the papers' tables.
#   REQUIRED INPUTS: tables and figures
#   OUTPUTS: report/index.html, replication/{benchmark}/{table}.csv, replication.csv, replication.txt


def paid_files():
    """Responses, judgements and orders that endpoints were paid for."""
    return [getattr(PATHS, paid.role).format(**paid._asdict()) for paid in selection.paid_answers(CONFIG)]


def released(path):
    """Input of: ``path`` (scored, scored_from) of published outputs."""
    return lambda w: path(w.benchmark, "released", w.table, selection.released_models(CONFIG))


def replicated():
    """The tables that are held against print."""
    return [
        PATHS.released_table.format(benchmark=benchmark, table=table)
        for benchmark, table in selection.replicable_tables(CONFIG)
    ]


rule write_report:
    """Write one self-contained page with every table and figure, and what each number means."""
    input:
        tables=all_tables(),
        figures=all_figures(),
        comparisons=all_comparisons(),
        paid=paid_files(),
        layout=local(str(SHIPPED / "scripts/biasatlas/report/page.html")),
    output:
        page=report(PATHS.report, caption="captions/report.rst", category="report"),
    log:
        PATHS.log("write_report"),
    group:
        "report"
    conda:
        "../envs/figures.yaml"
    params:
        code=code("write_report"),
        shipped=digest_of([SHIPPED / "scripts/biasatlas/report/page.html"]),
        texts=digest_of_texts(CONFIG.benchmarks),
        models={name: that_change(entry, "tables") for name, entry in CONFIG.models.items()},
        runs=[
            (name, protocol, CONFIG.benchmarks[name].data, selection.left_out(CONFIG, name)) for name, protocol in RUNS
        ],
    script:
        "../scripts/write_report.py"


localrules:
    replicate,


use rule summarise_scores as summarise_released with:
    input:
        scores=released(scored),
        provenance=released(scored_from),
        resources=shipped("tables"),
        own=[],
    output:
        table=PATHS.released_table,
        provenance=PATHS.released_table_from,
    log:
        PATHS.log("summarise_released", "benchmark", "table"),
    benchmark:
        PATHS.run_time("summarise_released", "benchmark", "table")
    params:
        protocol="released",
        published_as=published_as(lambda w: selection.released_models(CONFIG)),
        options=lambda w: that_change(load_options(w.benchmark, "released"), "tables"),


rule replicate:
    """Count the published values that released outputs reproduce to the printed digit, table by table."""
    input:
        tables=replicated(),
    output:
        summary=PATHS.replication,
        text=PATHS.replication_text,
    log:
        PATHS.log("replicate"),
    conda:
        "../envs/data.yaml"
    params:
        code=code("replicate"),
    script:
        "../scripts/replicate.py"
