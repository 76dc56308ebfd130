# Tables and figures.
#   REQUIRED INPUTS: scores/{model}/{benchmark}/{protocol}/{task}/{category}.csv
#   OUTPUTS: tables/{benchmark}/{protocol}/{table}.csv, figures/{benchmark}/{protocol}/{figure}.svg


rule summarise_scores:
    """Summarise the scores of all models, or a file of the user's own, in one table, published values beside ours."""
    input:
        scores=lambda w: scores_of(w.benchmark, w.protocol, w.table, plan.models(CONFIG, w.benchmark, w.protocol)),
        provenance=lambda w: provenance_of(
            w.benchmark, w.protocol, w.table, plan.models(CONFIG, w.benchmark, w.protocol)
        ),
        published=published_of,
        own=own_file,
    output:
        table=report(
            TABLE,
            caption="captions/table.rst",
            category="{benchmark}",
            subcategory="{protocol}",
            labels={"result": "table {table}"},
        ),
        provenance=report(
            Path(TABLE).with_suffix(".json"),
            caption="captions/provenance.rst",
            category="{benchmark}",
            subcategory="{protocol}",
            labels={"result": "provenance of table {table}"},
        ),
    log:
        log_of("summarise_scores", "benchmark", "protocol", "table"),
    benchmark:
        bench_of("summarise_scores", "benchmark", "protocol", "table")
    group:
        "results"
    conda:
        "../envs/data.yaml"
    params:
        code=lambda w: code_hash("summarise_scores", f"benchmarks.{w.benchmark}.tables"),
        protocol=lambda w: PROTOCOLS[w.benchmark, w.protocol],
        published_as=published_names(),
        caption=lambda w: BENCHMARKS[w.benchmark].tables[w.table].caption,
    script:
        "../scripts/summarise_scores.py"


rule compare_benchmarks:
    """Put the benchmarks' results side by side, as DBB's Tables 1 and 5 do, the printed numbers beside ours."""
    input:
        tables=lambda w: list(comparable_tables(w.protocol).values()),
        published=resource_files("published/dbb_*.csv"),
    output:
        table=report(
            COMPARISON,
            caption="captions/table.rst",
            category="comparison",
            subcategory="{protocol}",
            labels={"result": "table {comparison}"},
        ),
        provenance=Path(COMPARISON).with_suffix(".json"),
    log:
        log_of("compare_benchmarks", "protocol", "comparison"),
    group:
        "report"
    conda:
        "../envs/data.yaml"
    params:
        code=code_hash("compare_benchmarks"),
        tables=lambda w: list(comparable_tables(w.protocol)),
        published_as=published_names(),
        caption=lambda w: COMPARISONS[w.comparison],
    script:
        "../scripts/compare_benchmarks.py"


rule match_bbq:
    """Put DBB's concepts beside the questions of BBQ that they were made from."""
    input:
        dbb=matched("dbb", scores_of),
        bbq=matched("bbq", scores_of),
        dbb_provenance=matched("dbb", provenance_of),
        bbq_provenance=matched("bbq", provenance_of),
    output:
        table=report(
            MATCH,
            caption="captions/table.rst",
            category="comparison",
            subcategory="{protocol}",
            labels={"result": "table bbq_match"},
        ),
        provenance=Path(MATCH).with_suffix(".json"),
    log:
        log_of("match_bbq", "protocol"),
    group:
        "report"
    conda:
        "../envs/data.yaml"
    params:
        code=code_hash("match_bbq"),
        caption="DBB's concepts beside the BBQ questions that they were made from",
    script:
        "../scripts/match_bbq.py"


rule draw_match:
    """Draw DBB's concepts beside BBQ's questions."""
    input:
        table=MATCH,
    output:
        figure=report(
            MATCH_FIGURE,
            caption="captions/figure.rst",
            category="comparison",
            subcategory="{protocol}",
            labels={"result": "figure bbq_match"},
        ),
    log:
        log_of("draw_match", "protocol"),
    group:
        "report"
    conda:
        "../envs/figures.yaml"
    params:
        code=code_hash("draw_match"),
        caption="DBB's bias score beside BBQ's for the concepts in both (Figures 5 to 7 of DBB)",
    script:
        "../scripts/draw_match.py"


rule draw_figure:
    """Draw a figure from the tables of its benchmark."""
    input:
        tables=lambda w: [
            TABLE.format(benchmark=w.benchmark, protocol=w.protocol, table=table)
            for table in BENCHMARKS[w.benchmark].figures[w.figure].tables
        ],
    output:
        figure=report(
            FIGURE,
            caption="captions/figure.rst",
            category="{benchmark}",
            subcategory="{protocol}",
            labels={"result": "figure {figure}"},
        ),
    log:
        log_of("draw_figure", "benchmark", "protocol", "figure"),
    group:
        "results"
    conda:
        "../envs/figures.yaml"
    params:
        code=lambda w: code_hash("draw_figure", f"benchmarks.{w.benchmark}.figures"),
        caption=lambda w: BENCHMARKS[w.benchmark].figures[w.figure].caption,
    script:
        "../scripts/draw_figure.py"
