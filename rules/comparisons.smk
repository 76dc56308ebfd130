# Which numbers to believe: models on the same items, what is found among all tests.
#   REQUIRED INPUTS: scores/{model}/{benchmark}/{protocol}/{task}/{category}.csv
#   OUTPUTS: tables/comparison/{protocol}/pairs.csv and findings.csv, reliability.csv, figures/comparison/{protocol}/pairs.svg,
#            summary/{model}.md, .tex and .json; multiverse/{model}/{benchmark}/{protocol}.csv, and of all
#            tables/comparison/{protocol}/multiverse.csv, sensitivity.csv and figures/comparison/{protocol}/multiverse.svg
#   WILDCARDS: protocol, model, benchmark

CARDS = ["laboratory/cards.csv"]


def weighed_runs(wildcards):
    """Name, benchmark and number of score files of each benchmark that is evidence."""
    protocol = wildcards.protocol
    return [(name, CONFIG.benchmark(name), len(all_scored(name, protocol))) for name in weighed(protocol)]


def weighed_options(wildcards):
    """The options of those benchmarks that change what their scores say."""
    protocol = wildcards.protocol
    return {name: that_change(CONFIG.options(name, protocol), "tables") for name in weighed(protocol)}


def weighed_files(path):
    """Input of: ``path`` (scored, scored_from) of all benchmarks that are evidence."""
    return lambda w: [file for name in weighed(w.protocol) for file in all_scored(name, w.protocol, path)]


def weighed_code(wildcards):
    """The code of every benchmark's evidence."""
    return code("compare_models", weighed(wildcards.protocol))(wildcards)


rule compare_models:
    """Compare every two models on the same items, and say what is found once all tests are counted."""
    input:
        scores=weighed_files(scored),
        provenance=weighed_files(scored_from),
        cards=ship(CARDS),
    output:
        **{
            name: report(
                PATHS.comparison.replace("{comparison}", name),
                caption="captions/table.rst",
                category="comparison",
                subcategory="{protocol}",
                labels={"result": f"table {name}"},
            )
            for name in ("pairs", "findings", "reliability")
        },
        provenance=PATHS.comparison_from.replace("{comparison}", "pairs"),
    log:
        PATHS.log("compare_models", "protocol"),
    benchmark:
        PATHS.run_time("compare_models", "protocol")
    group:
        "report"
    conda:
        "../envs/data.yaml"
    params:
        code=weighed_code,
        shipped=digest_of(ship(CARDS)),
        runs=weighed_runs,
        options=weighed_options,
        models=list(CONFIG.models),  # in the order of the rows
        seeds=across.seeds(CONFIG),
    script:
        "../scripts/compare_models.py"


rule draw_pairs:
    """Draw the differences of models on the same items."""
    input:
        table=PATHS.comparison.replace("{comparison}", "pairs"),
    output:
        figure=report(
            PATHS.comparison_figure.replace("{comparison}", "pairs"),
            caption="captions/figure.rst",
            category="comparison",
            subcategory="{protocol}",
            labels={"result": "figure pairs"},
        ),
    log:
        PATHS.log("draw_pairs", "protocol"),
    group:
        "report"
    conda:
        "../envs/figures.yaml"
    params:
        code=code("draw_pairs"),
    script:
        "../scripts/draw_pairs.py"


rule summarise_models:
    """What was found of each model, fit for its model card: Markdown, LaTeX, JSON."""
    input:
        findings=[PATHS.comparison.format(protocol=protocol, comparison="findings") for protocol in weighed_protocols()],
    output:
        summaries=all_summaries(),
    log:
        PATHS.log("summarise_models"),
    group:
        "report"
    conda:
        "../envs/data.yaml"
    params:
        code=code("summarise_models"),
        protocols=weighed_protocols(),
        models=across.weighed_models(CONFIG),
        titles={name: CONFIG.spec(name).title for name in CONFIG.benchmarks},
    script:
        "../scripts/summarise_models.py"


def scored_tasks(wildcards):
    """Tasks that a model answered and that are scored without a judge."""
    declared = CONFIG.spec(wildcards.benchmark).tasks
    return [task for task in selection.tasks(CONFIG, wildcards.benchmark, wildcards.model) if not declared[task].judged]


def scored_categories(wildcards):
    """Categories of each of those tasks."""
    return {task: selection.categories(CONFIG, wildcards.benchmark, task) for task in scored_tasks(wildcards)}


def scoring_names(wildcards):
    """The shipped files that scores and tables are made with."""
    benchmark = CONFIG.benchmark(wildcards.benchmark)
    return list(dict.fromkeys(name for step in ("scores", "tables") for name in resource_names(benchmark, step)))


def scoring_files(wildcards):
    """Paths of :func:`scoring_names`."""
    return ship(scoring_names(wildcards))


def asked(wildcards):
    """The requests of those tasks."""
    return expand(PATHS.requests, task=scored_tasks(wildcards), allow_missing=True)


def universe_keys():
    """(model, benchmark, protocol) of every file of numbers that are looked at under every choice."""
    return [
        (model, name, protocol)
        for protocol in weighed_protocols()
        for name in weighed(protocol)
        for model in selection.models(CONFIG, name, protocol)
    ]


rule score_again:
    """Score a model's responses under every choice of analysis."""
    input:
        items_file=PATHS.items,
        requests=asked,
        responses=PATHS.responses,
        resources=scoring_files,
    output:
        table=PATHS.multiverse,
    log:
        PATHS.log("score_again", "model", "benchmark", "protocol"),
    benchmark:
        PATHS.run_time("score_again", "model", "benchmark", "protocol")
    group:
        "results"
    conda:
        "../envs/data.yaml"
    params:
        code=code("score_again"),
        names=scoring_names,
        options=options("tables"),
        categories=scored_categories,
    script:
        "../scripts/score_again.py"


rule tell_sensitivity:
    """Say what holds whatever the choice, and which choice moves a number most."""
    input:
        tables=[PATHS.multiverse.format(model=m, benchmark=b, protocol=p) for m, b, p in universe_keys()],
    output:
        multiverse=PATHS.comparison.replace("{comparison}", "multiverse"),
        sensitivity=PATHS.comparison.replace("{comparison}", "sensitivity"),
        figure=PATHS.comparison_figure.replace("{comparison}", "multiverse"),
    log:
        PATHS.log("tell_sensitivity", "protocol"),
    conda:
        "../envs/figures.yaml"
    params:
        code=code("tell_sensitivity", list(CONFIG.benchmarks)),
        benchmarks={name: CONFIG.benchmark(name) for name in CONFIG.benchmarks},
        protocols=[protocol for *_, protocol in universe_keys()],
    script:
        "../scripts/tell_sensitivity.py"
