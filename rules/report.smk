# The report, and the check of the papers' tables.
#   REQUIRED INPUTS: tables and figures
#   OUTPUTS: report/index.html, tables/replication.csv


rule write_report:
    """Write one self-contained page with every table and figure, and what each number means."""
    input:
        tables=all_tables(),
        figures=all_figures(),
        layout=str(Path(workflow.basedir) / "scripts" / "biasatlas" / "report" / "page.html"),
    output:
        page=report(REPORT, caption="captions/report.rst", category="report"),
    log:
        log_of("write_report"),
    conda:
        "../envs/figures.yaml"
    params:
        code=code_hash("write_report"),
        runs=[
            {
                "benchmark": name,
                "protocol": protocol,
                "data": CONFIG.benchmarks[name].data,
                "tables": {
                    table: TABLE.format(benchmark=name, protocol=protocol, table=table)
                    for table in plan.tables(CONFIG, name, protocol)
                },
                "figures": {
                    figure: FIGURE.format(benchmark=name, protocol=protocol, figure=figure)
                    for figure in plan.figures(CONFIG, name, protocol)
                },
            }
            for name, protocol in PROTOCOLS
        ],
        models={name: entry.model_dump(exclude_none=True) for name, entry in CONFIG.models.items()},
    script:
        "../scripts/write_report.py"


rule replicate:
    input:
        tables=[path for path in all_tables() if "/released/" in path],
    output:
        summary=f"{RESULTS}/tables/replication.csv",
    log:
        log_of("replicate"),
    """Check every published table that released outputs can reproduce: how many values match to the printed digit."""
    localrule: True
    conda:
        "../envs/data.yaml"
    params:
        code=code_hash("replicate"),
        models=models_of("released"),
    script:
        "../scripts/replicate.py"
