# What a configuration asks for in the end, and what of it is left where a job failed. No rule is written here.

from functools import cache

from biasatlas.benchmarks.comparison_spec import COMPARISONS, MATCHES


def there(path):
    """Whether a file is there, on whatever storage."""
    return exists(path)


def whole(score):
    """Whether a score file is to be used: in a run that goes on after a failure, only where all behind it is there."""
    return not PARTIAL or all(there(path) for path, _ in failures.steps(CONFIG, PATHS, score))


def scored(benchmark, protocol, table, models):
    """Score files that a table reads: those of ``models`` that have them."""
    wanted = selection.scores(CONFIG, benchmark, protocol, table, models)
    return [PATHS.scores.format(**score._asdict()) for score in wanted if whole(score)]


def scored_from(benchmark, protocol, table, models):
    """What those were made from: a file for each model and task."""
    wanted = selection.scores(CONFIG, benchmark, protocol, table, models)
    return list(dict.fromkeys(PATHS.scored_from.format(**score._asdict()) for score in wanted if whole(score)))


def left(path, **names):
    """Whether a result is to be used: where others failed to be made, only if it is there."""
    return PARTIAL != "report" or there(path.format(**names))


def has_scores(benchmark, protocol, table):
    """Whether there is anything that a table can be made of."""
    models = selection.models(CONFIG, benchmark, protocol)
    reads = CONFIG.spec(benchmark).tables[table].tasks
    return not (PARTIAL and reads) or bool(scored(benchmark, protocol, table, models))


def tables():
    """(benchmark, protocol, table) of every table."""
    return [
        (benchmark, protocol, table)
        for benchmark, protocol in RUNS
        for table in selection.tables(CONFIG, benchmark, protocol)
        if has_scores(benchmark, protocol, table)
        and left(PATHS.table, benchmark=benchmark, protocol=protocol, table=table)
    ]


def figures():
    """(benchmark, protocol, figure) of every figure."""
    made = set(tables())
    return [
        (benchmark, protocol, figure)
        for benchmark, protocol in RUNS
        for figure in selection.figures(CONFIG, benchmark, protocol)
        if made.issuperset((benchmark, protocol, table) for table in CONFIG.spec(benchmark).figures[figure].tables)
        and left(PATHS.figure, benchmark=benchmark, protocol=protocol, figure=figure)
    ]


def comparisons():
    """(kind, protocol, name) across benchmarks: DBB's Tables 1 and 5, and what its Figures 5 to 7 show."""
    keys = [("table", *key) for key in across.comparisons(CONFIG) if compared(*key)]
    matches = [p for p in across.matches(CONFIG) if all(scored(b, p, "bias", matched(p)) for b in ("dbb", "bbq"))]
    keys += [(kind, protocol, name) for protocol in matches for kind, name in MATCHES]
    keys += [("table", protocol, "findings") for protocol in weighed_protocols()]
    keys += [(kind, protocol, "pairs") for protocol in shared_protocols(2) for kind in ("table", "figure")]
    keys += [("table", protocol, "reliability") for protocol in shared_protocols(3)]
    return [key for key in keys if left(comparison_path(key))]


def compared(protocol, comparison):
    """(benchmark, table) that stand side by side."""
    made = set(tables())
    wanted = across.compared_tables(CONFIG, protocol, comparison)
    return [(benchmark, table) for benchmark, table in wanted if (benchmark, protocol, table) in made]


def matched(protocol):
    """Models that both DBB and BBQ measure."""
    return across.matched_models(CONFIG, protocol)


def comparison_path(key):
    """Where a comparison lies."""
    kind, protocol, name = key
    path = {"table": PATHS.comparison, "figure": PATHS.comparison_figure}[kind]
    return path.format(protocol=protocol, comparison=name)


def weighed(protocol):
    """Names of the benchmarks whose scores are evidence under a protocol."""
    return [name for name in across.weighed(CONFIG, protocol) if all_scored(name, protocol)]


@cache  # asked for each model and table
def all_scored(benchmark, protocol, path=scored):
    """``path`` (scored, scored_from) of all models and tables of a benchmark."""
    models = selection.models(CONFIG, benchmark, protocol)
    reads = [name for name, table in CONFIG.spec(benchmark).tables.items() if table.tasks]
    return list(dict.fromkeys(file for table in reads for file in path(benchmark, protocol, table, models)))


def weighed_protocols():
    """Protocols under which there is any evidence."""
    return [protocol for protocol in dict.fromkeys(protocol for _, protocol in RUNS) if weighed(protocol)]


def shared_protocols(models):
    """Those under which as many models answer the same benchmark."""
    asked = [(p, selection.models(CONFIG, name, p)) for p in weighed_protocols() for name in weighed(p)]
    return list(dict.fromkeys(protocol for protocol, names in asked if len(names) >= models))


def all_summaries():
    """A summary of each model that there is any evidence about."""
    return [
        PATHS.summary.format(model=model, form=form)
        for model in across.weighed_models(CONFIG)
        for form in ("md", "tex", "json")
        if left(PATHS.summary, model=model, form=form)
    ]


def all_tables(benchmark=None):
    """Paths of every table of the configuration, or of one of its benchmarks."""
    chosen = (key for key in tables() if benchmark in (None, key[0]))
    return [PATHS.table.format(benchmark=name, protocol=protocol, table=table) for name, protocol, table in chosen]


def all_figures(benchmark=None):
    """Paths of every figure of the configuration, or of one of its benchmarks."""
    chosen = (key for key in figures() if benchmark in (None, key[0]))
    return [PATHS.figure.format(benchmark=name, protocol=protocol, figure=figure) for name, protocol, figure in chosen]


def all_comparisons():
    """Paths of everything across benchmarks."""
    return [comparison_path(key) for key in comparisons()]


def constructed():
    """What became of every item, step by step, and of the manual evaluation, where the configuration asks for them."""
    if not CONFIG.construction or PARTIAL:
        return []
    evaluation = [f"{PATHS.construction}/evaluation.csv"] if CONFIG.construction.evaluation else []
    return [*(f"{PATHS.construction}/{name}.csv" for name in ("costs", "verdicts")), *evaluation]


onstart:
    # Under its default limit of 100 jobs a second Snakemake looks for work without an end: each look plans another for a second
    # later, and so does each job that ends, so that a run of a thousand jobs keeps a core busy with looking.
    limit = workflow.scheduler.job_rate_limiter
    if limit and (limit.max_jobs, limit.timespan) == (100, 1):
        workflow.scheduler.job_rate_limiter = None


onerror:
    if workflow.is_main_process:
        failures.go_on(log, sys.argv[1:])
