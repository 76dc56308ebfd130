# The report, and the check of the papers' tables.
#   REQUIRED INPUTS: tables and figures
#   OUTPUTS: report/index.html, replication/{benchmark}/{table}.csv, replication.csv, replication.txt


rule write_report:
    """Write one self-contained page with every table and figure, and what each number means."""
    input:
        tables=all_tables(),
        figures=all_figures(),
        comparisons=all_comparisons(),
        paid=[path for paths in paid_responses().values() for path in paths],
        layout=str(ROOT / "scripts" / "biasatlas" / "report" / "page.html"),
    output:
        page=report(REPORT, caption="captions/report.rst", category="report"),
    log:
        log_of("write_report"),
    group:
        "report"
    conda:
        "../envs/figures.yaml"
    params:
        code=code_hash("write_report"),
        runs=report_runs(),
        paid=paid_responses(),
        models={name: entry.model_dump(exclude_none=True) for name, entry in CONFIG.models.items()},
    script:
        "../scripts/write_report.py"


localrules:
    replicate,


use rule summarise_scores as summarise_released with:
    input:
        scores=lambda w: scores_of(w.benchmark, "released", w.table, models_of("released")),
        provenance=lambda w: provenance_of(w.benchmark, "released", w.table, models_of("released")),
        published=published_of,
    output:
        table=REPLICATION,
        provenance=Path(REPLICATION).with_suffix(".json"),
    log:
        log_of("summarise_released", "benchmark", "table"),
    benchmark:
        bench_of("summarise_released", "benchmark", "table")
    params:
        code=lambda w: code_hash("summarise_scores", f"benchmarks.{w.benchmark}.tables"),
        protocol=lambda w: load_protocol(w.benchmark, "released"),
        published_as=published_names(),
        caption=lambda w: BENCHMARKS[w.benchmark].tables[w.table].caption,


rule replicate:
    """Count the published values that released outputs reproduce to the printed digit, table by table."""
    input:
        tables=replicable_tables(),
    output:
        summary=f"{RESULTS}/replication.csv",
        text=f"{RESULTS}/replication.txt",
    log:
        log_of("replicate"),
    conda:
        "../envs/data.yaml"
    params:
        code=code_hash("replicate"),
    script:
        "../scripts/replicate.py"
