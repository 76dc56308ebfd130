# Tables and figures.
#   REQUIRED INPUTS: scores/{model}/{benchmark}/{protocol}/{task}/{category}.csv
#   OUTPUTS: tables/{benchmark}/{protocol}/{table}.csv, figures/{benchmark}/{protocol}/{figure}.svg


def measured(path):
    """Input of: ``path`` (scored, scored_from) of every model that a benchmark measures."""
    return lambda w: path(w.benchmark, w.protocol, w.table, measured_models(w))


def matching(benchmark, path):
    """Input of: ``path`` of the models that both DBB and BBQ measure."""
    return lambda w: path(benchmark, w.protocol, "bias", matched(w.protocol))


def own_file(wildcards):
    """The user's own file, or the source of published data, that a table is computed from, where it is from one."""
    table = CONFIG.spec(wildcards.benchmark).tables[wildcards.table]
    if table.source:
        return ancient(PATHS.source.format(source=table.source))
    return CONFIG.benchmarks[wildcards.benchmark].files.get(table.file, [])


def own_checksums(wildcards):
    """What such a source holds: Snakemake knows only a folder's time."""
    table = CONFIG.spec(wildcards.benchmark).tables[wildcards.table]
    return PATHS.checksums.format(source=table.source) if table.source else []


def answered_tasks(wildcards):
    """(model, task) of the answers that can be counted."""
    models = measured_models(wildcards)
    wanted = selection.scores(CONFIG, wildcards.benchmark, wildcards.protocol, REPLIES, models)
    return list(dict.fromkeys((score.model, score.task) for score in wanted if whole(score)))


def judged_tasks(wildcards):
    """Those of :func:`answered_tasks` that a judge graded."""
    tasks = CONFIG.spec(wildcards.benchmark).tasks
    return [(model, task) for model, task in answered_tasks(wildcards) if tasks[task].judged]


def each(path, tasks):
    """Input of: ``path`` of each (model, task) of ``tasks``."""

    def files(wildcards):
        return [path.format(**{**wildcards, "model": model, "task": task}) for model, task in tasks(wildcards)]

    return files


def of_some_categories(wildcards):
    """Param of: whether a benchmark is measured on some of its categories alone."""
    return bool(CONFIG.benchmarks[wildcards.benchmark].categories)


def drawn_from(wildcards):
    """The tables of a figure."""
    return expand(PATHS.table, **wildcards, table=CONFIG.spec(wildcards.benchmark).figures[wildcards.figure].tables)


def side_by_side(wildcards):
    """(benchmark, table) that stand side by side."""
    return compared(wildcards.protocol, wildcards.comparison)


def compared_files(wildcards):
    """Paths of :func:`side_by_side`."""
    return [PATHS.table.format(**wildcards, benchmark=name, table=table) for name, table in side_by_side(wildcards)]


def places(of):
    """Param of: the place of each model that a figure may draw among the configured ones, which gives it its colour."""
    return lambda w: {name: place for place, name in enumerate(CONFIG.models) if name in of(w)}


def measured_models(wildcards):
    """Models that a benchmark measures."""
    return selection.models(CONFIG, wildcards.benchmark, wildcards.protocol)


def matched_models(wildcards):
    """Models that both DBB and BBQ measure."""
    return matched(wildcards.protocol)


def published_as(of):
    """Param of: our name of a model -> its name in print, of the models that a table may hold."""
    return lambda w: {name: CONFIG.models[name].published_as for name in of(w) if CONFIG.models[name].published_as}


def compared_models(wildcards):
    """Models of the benchmarks that stand side by side."""
    benchmarks = [benchmark for benchmark, _ in side_by_side(wildcards)]
    return dict.fromkeys(m for name in benchmarks for m in selection.models(CONFIG, name, wildcards.protocol))


# All but the one that every benchmark has of its replies.
OWN_TABLES = sorted({table for name in CONFIG.benchmarks for table in CONFIG.spec(name).tables} - {REPLIES})


def measured_as_printed(wildcards):
    """Param of: the benchmarks that are measured as DBB's paper does."""
    return across.measured_as_printed(CONFIG, wildcards.protocol)


DBB_PUBLISHED = shipped_names(["published/dbb_*.csv"])


rule summarise_scores:
    """Summarise scores, or a file of the user's own, in one table, published values beside ours."""
    input:
        scores=measured(scored),
        provenance=measured(scored_from),
        resources=shipped("tables"),
        own=own_file,
        checksums=own_checksums,
    output:
        table=report(
            PATHS.table,
            caption="captions/table.rst",
            category="{benchmark}",
            subcategory="{protocol}",
            labels={"result": "table {table}"},
        ),
        provenance=report(
            PATHS.table_from,
            caption="captions/provenance.rst",
            category="{benchmark}",
            subcategory="{protocol}",
            labels={"result": "provenance of table {table}"},
        ),
    log:
        PATHS.log("summarise_scores", "benchmark", "protocol", "table"),
    benchmark:
        PATHS.run_time("summarise_scores", "benchmark", "protocol", "table")
    wildcard_constraints:
        table=any_of(OWN_TABLES),
    group:
        "results"
    conda:
        "../envs/data.yaml"
    params:
        code=code("summarise_scores"),
        shipped=shipped_digest("tables"),
        options=options("tables"),
        models=measured_models,  # in the order of the rows
        data=lambda w: CONFIG.benchmarks[w.benchmark].data,
        part=of_some_categories,
        published_as=published_as(measured_models),
    script:
        "../scripts/summarise_scores.py"


rule summarise_replies:
    """Count what became of every answer, and list the replies that could not be read."""
    input:
        items_file=PATHS.items,
        requests=each(PATHS.requests, answered_tasks),
        responses=each(PATHS.responses, answered_tasks),
        judge_requests=each(PATHS.judge_requests, judged_tasks),
        judgements=each(PATHS.judgements, judged_tasks),
    output:
        table=report(
            PATHS.replies,
            caption="captions/table.rst",
            category="{benchmark}",
            subcategory="{protocol}",
            labels={"result": "table replies"},
        ),
        provenance=PATHS.replies_from,
        unread=PATHS.unread,
        examples=PATHS.unread_examples,
    log:
        PATHS.log("summarise_replies", "benchmark", "protocol"),
    benchmark:
        PATHS.run_time("summarise_replies", "benchmark", "protocol")
    group:
        "results"
    conda:
        "../envs/data.yaml"
    params:
        code=code("summarise_replies"),
        answered=answered_tasks,
        judged=judged_tasks,
    script:
        "../scripts/summarise_replies.py"


rule compare_benchmarks:
    """Put the benchmarks' results side by side, as papers do, the printed numbers beside ours."""
    input:
        tables=compared_files,
        published=ship(DBB_PUBLISHED),
    output:
        table=report(
            PATHS.comparison,
            caption="captions/table.rst",
            category="comparison",
            subcategory="{protocol}",
            labels={"result": "table {comparison}"},
        ),
        provenance=PATHS.comparison_from,
    log:
        PATHS.log("compare_benchmarks", "protocol", "comparison"),
    wildcard_constraints:
        comparison=any_of(COMPARISONS),
    group:
        "report"
    conda:
        "../envs/data.yaml"
    params:
        code=code("compare_benchmarks"),
        shipped=digest_of(ship(DBB_PUBLISHED)),
        published=DBB_PUBLISHED,
        tables=side_by_side,
        measured=measured_as_printed,
        published_as=published_as(compared_models),
    script:
        "../scripts/compare_benchmarks.py"


rule match_bbq:
    """Put DBB's concepts beside the questions of BBQ that they were made from."""
    input:
        dbb=matching("dbb", scored),
        bbq=matching("bbq", scored),
        dbb_provenance=matching("dbb", scored_from),
        bbq_provenance=matching("bbq", scored_from),
        dbb_items=PATHS.items.format(benchmark="dbb"),
        bbq_items=PATHS.items.format(benchmark="bbq"),
    output:
        table=report(
            PATHS.comparison.replace("{comparison}", "bbq_match"),
            caption="captions/table.rst",
            category="comparison",
            subcategory="{protocol}",
            labels={"result": "table bbq_match"},
        ),
        distribution=PATHS.comparison.replace("{comparison}", "bbq_distribution"),
        examples=PATHS.comparison.replace("{comparison}", "bbq_examples"),
        provenance=PATHS.comparison_from.replace("{comparison}", "bbq_match"),
    log:
        PATHS.log("match_bbq", "protocol"),
    group:
        "report"
    conda:
        "../envs/data.yaml"
    params:
        code=code("match_bbq"),
        models=matched_models,
    script:
        "../scripts/match_bbq.py"


rule draw_match:
    """Draw DBB's concepts beside BBQ's questions, or their instances by score."""
    input:
        table=PATHS.comparison,
    output:
        figure=report(
            PATHS.comparison_figure,
            caption="captions/figure.rst",
            category="comparison",
            subcategory="{protocol}",
            labels={"result": "figure {comparison}"},
        ),
    log:
        PATHS.log("draw_match", "protocol", "comparison"),
    wildcard_constraints:
        comparison=any_of(name for kind, name in MATCHES if kind == "figure"),
    group:
        "report"
    conda:
        "../envs/figures.yaml"
    params:
        code=code("draw_match"),
        places=places(matched_models),
    script:
        "../scripts/draw_match.py"


rule draw_figure:
    """Draw a figure from the tables of its benchmark."""
    input:
        tables=drawn_from,
    output:
        figure=report(
            PATHS.figure,
            caption="captions/figure.rst",
            category="{benchmark}",
            subcategory="{protocol}",
            labels={"result": "figure {figure}"},
        ),
    log:
        PATHS.log("draw_figure", "benchmark", "protocol", "figure"),
    group:
        "results"
    conda:
        "../envs/figures.yaml"
    params:
        code=code("draw_figure"),
        places=places(measured_models),
    script:
        "../scripts/draw_figure.py"
