# Across benchmarks and models: benchmarks side by side, models on the same items, and findings among all tests.
#   REQUIRED INPUTS: tables, and task_scores/{model}/{benchmark}/{protocol}/{task}.parquet
#   OUTPUTS: {tables,figures}/comparison/{protocol}/{comparison}.*, contributions/{protocol}.parquet, summary/{model}.*

from biasatlas.benchmarks.comparisons.declared import COMPARISONS, MATCHES

PUBLISHED_DBB = find.shipped("published/dbb_*.csv")
FINDINGS, MULTIVERSES = find.findings(), find.multiverses()


rule compare_benchmarks:
    """Put the benchmarks' results side by side, as papers do, the printed numbers beside ours."""
    input:
        tables=find.files_for(find.compared_tables),
        resources=files(PUBLISHED_DBB),
    output:
        table=report(PATHS.comparison, **shown("table {comparison}", "comparison")),
        provenance=PATHS.comparison_from,
    log:
        PATHS.log("compare_benchmarks", "protocol", "comparison"),
    wildcard_constraints:
        comparison=any_of(COMPARISONS),
    conda:
        "../envs/data.yaml"
    params:
        step=find.step(
            "",
            "compare_benchmarks",
            tables=find.compared_tables,
            resources=PUBLISHED_DBB,
            shipped=find.digest(PUBLISHED_DBB),
            measured=find.measured_as_published,
            published_as=find.published_names(find.compared_models),
        ),
    script:
        "../scripts/compare_benchmarks.py"


rule compare_dbb_bbq:
    """Put DBB's concepts beside the questions of BBQ that they were made from."""
    input:
        unpack(find.matched_scores),
        dbb_items=PATHS.items.format(benchmark="dbb"),
        bbq_items=PATHS.items.format(benchmark="bbq"),
    output:
        table=report(PATHS.compared("dbb_bbq"), **shown("table dbb_bbq", "comparison")),
        distribution=PATHS.compared("bbq_distribution"),
        examples=PATHS.compared("bbq_examples"),
        provenance=PATHS.compared_from("dbb_bbq"),
    log:
        PATHS.log("compare_dbb_bbq", "protocol"),
    conda:
        "../envs/data.yaml"
    params:
        step=find.step("", "compare_dbb_bbq", models=find.matched_models),
    script:
        "../scripts/compare_dbb_bbq.py"


rule compare_models:
    """Compare every two models on the same items, and list the findings once all tests are corrected for."""
    input:
        runs=find.files_for(find.evidence),
        cards=files(CARDS),
    output:
        **({"framings": PATHS.compared("framings")} if targets.framed else {}),
        pairs=report(PATHS.compared("pairs"), **shown("table pairs", "comparison")),
        findings=report(PATHS.compared("findings"), **shown("table findings", "comparison")),
        reliability=report(PATHS.compared("reliability"), **shown("table reliability", "comparison")),
        contributions=PATHS.contributions,
        provenance=PATHS.compared_from("pairs"),
    log:
        PATHS.log("compare_models", "protocol"),
    benchmark:
        PATHS.run_time("compare_models", "protocol")
    conda:
        "../envs/data.yaml"
    params:
        step=find.step(
            "",
            "compare_models",
            runs=find.evidence,
            options=find.evidence_options,
            cards=CARDS,
            models=list(CONFIG.models),  # in the order of the rows
            seeds=find.seeds(),
        ),
    script:
        "../scripts/compare_models.py"


rule draw_comparison:
    """Draw DBB beside BBQ, or the differences of models on the same items."""
    input:
        table=PATHS.comparison,
        font=files(FONT),
    output:
        figure=report(PATHS.comparison_figure, **shown("figure {comparison}", "comparison")),
    log:
        PATHS.log("draw_comparison", "protocol", "comparison"),
    wildcard_constraints:
        comparison=any_of(["pairs", "framings", *(name for kind, name in MATCHES if kind == "figure")]),
    conda:
        "../envs/figures.yaml"
    params:
        step=find.step("", "draw_comparison", colours=find.colours(find.matched_models)),
    script:
        "../scripts/draw_comparison.py"


rule summarise_models:
    """The findings about each model, for its model card: Markdown, LaTeX, JSON."""
    input:
        findings=files(FINDINGS),
    output:
        summaries=targets.all_summaries(),
    log:
        PATHS.log("summarise_models"),
    conda:
        "../envs/data.yaml"
    params:
        step=find.step(
            "",
            "summarise_models",
            findings=FINDINGS,
            models=targets.models_with_evidence(),
            titles={name: CONFIG.spec(name).title for name in CONFIG.benchmarks},
        ),
    script:
        "../scripts/summarise_models.py"


rule analyse_sensitivity:
    """Say which results hold under every choice, and which choice moves a number most."""
    input:
        tables=files(MULTIVERSES),
        font=files(FONT),
    output:
        multiverse=PATHS.compared("multiverse"),
        sensitivity=PATHS.compared("sensitivity"),
        figure=PATHS.compared_figure("multiverse"),
    log:
        PATHS.log("analyse_sensitivity", "protocol"),
    conda:
        "../envs/figures.yaml"
    params:
        step=find.step(
            "",
            "analyse_sensitivity",
            tables=MULTIVERSES,
            benchmarks={name: CONFIG.benchmark(name) for name in CONFIG.benchmarks},
        ),
    script:
        "../scripts/analyse_sensitivity.py"


rule comparison:
    """Benchmarks side by side (DBB's Tables 1 and 5, Figures 5 to 7), models on the same items, and what is found."""
    input:
        targets.all_comparisons(),


rule multiverse:
    """Every number of each benchmark's multiverse, scored again from the same responses under all analyses."""
    input:
        expand(PATHS.comparison, comparison=["multiverse", "sensitivity"], protocol=targets.protocols_with_evidence),
        expand(PATHS.compared_figure("multiverse"), protocol=targets.protocols_with_evidence),
