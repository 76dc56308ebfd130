# What a configuration asks for in the end. No rule is written here.


def all_tables(benchmark=None):
    """Every table of the configuration, or of one of its benchmarks."""
    return [
        PATHS.table.format(benchmark=name, protocol=protocol, table=table)
        for name, protocol in RUNS
        if benchmark in (None, name)
        for table in selection.tables(CONFIG, name, protocol)
    ]


def all_figures(benchmark=None):
    """Every figure of the configuration, or of one of its benchmarks."""
    return [
        PATHS.figure.format(benchmark=name, protocol=protocol, figure=figure)
        for name, protocol in RUNS
        if benchmark in (None, name)
        for figure in selection.figures(CONFIG, name, protocol)
    ]


def all_comparisons():
    """DBB's Tables 1 and 5 under every protocol that at least two of their benchmarks are run with; Figures 5 to 7."""
    tables = [PATHS.comparison.format(protocol=p, comparison=name) for p, name in selection.comparisons(CONFIG)]
    matches = selection.matches(CONFIG)
    return tables + [path.format(protocol=p) for p in matches for path in (PATHS.match, PATHS.match_figure)]


def constructed():
    """What became of every item, step by step, and of the manual evaluation, where the configuration asks for them."""
    if not CONFIG.construction:
        return []
    evaluation = [f"{PATHS.construction}/evaluation.csv"] if CONFIG.construction.evaluation else []
    return [*(f"{PATHS.construction}/{name}.csv" for name in ("costs", "verdicts")), *evaluation]
