# The report, and the check of the papers' tables.
#   REQUIRED INPUTS: tables and figures, and the items, requests, responses and scores behind them
#   OUTPUTS: report/index.html, report/pages/, replication/{benchmark}/{table}.csv, replication/ledger.csv, replication/ledger.md


def paid():
    """(payer, task, path) of the responses, judgements and orders that endpoints were paid for.

    Several models and protocols may share one file, which was paid for once.
    """
    answers = selection.paid_answers(CONFIG)
    files = [(answer.payer, answer.task, getattr(PATHS, answer.role).format(**answer._asdict())) for answer in answers]
    return [row for row in dict.fromkeys(files) if not PARTIAL or there(row[2])]


def missing():
    """What the report cannot show since jobs failed, a sentence each."""
    if not PARTIAL:
        return []
    results = failures.results(CONFIG, PATHS) if PARTIAL == "report" else []
    return failures.gaps(CONFIG, PATHS, results, there)


def released_models(wildcards):
    """Models whose published outputs are imported."""
    return selection.released_models(CONFIG)


def released(path):
    """Input of: ``path`` (scored, scored_from) of published outputs."""
    return lambda w: path(w.benchmark, "released", w.table, selection.released_models(CONFIG))


def replicated():
    """The tables that are held against print."""
    return [
        PATHS.released_table.format(benchmark=benchmark, table=table)
        for benchmark, table in selection.replicable_tables(CONFIG)
    ]


def evidence():
    """(benchmark, protocol, task, model) -> the score files of that model's answers, of all that was scored."""
    keys = [
        (benchmark, protocol, task, model)
        for benchmark, protocol in RUNS
        for model in selection.models(CONFIG, benchmark, protocol)
        for task in selection.tasks(CONFIG, benchmark, model)
    ]
    parts = {key: [score for score in scores_of(*key) if whole(score)] for key in keys}
    return {key: [PATHS.scores.format(**score._asdict()) for score in part] for key, part in parts.items() if part}


def scores_of(benchmark, protocol, task, model):
    """The scores of a model's answers to a task, category by category."""
    wanted = selection.categories(CONFIG, benchmark, task)
    return [selection.Scored(model, benchmark, protocol, task, category) for category in wanted]


def is_judged(key):
    """Whether a judge graded the answers of (benchmark, protocol, task, model)."""
    return CONFIG.spec(key[0]).tasks[key[2]].judged


def behind(path, keys):
    """``path`` of each (benchmark, protocol, task, model), once."""
    names = ("benchmark", "protocol", "task", "model")
    return list(dict.fromkeys(path.format(**dict(zip(names, key))) for key in keys))


def tokens_of(key):
    """Where the log-likelihoods of (benchmark, protocol, model) lie token by token; scripts/tell_tokens.py makes them."""
    return PATHS.tokens.format(benchmark=key[0], protocol=key[1], model=key[2])


EVIDENCE = evidence()
PAGE_FILES = sorted((ROOT / "scripts/biasatlas/report").glob("[tw]e*/*"))
JUDGED = [key for key in EVIDENCE if is_judged(key)]
TOLD = [key for key in dict.fromkeys((b, p, m) for b, p, _, m in EVIDENCE) if there(tokens_of(key))]


rule write_report:
    """Write the site: an overview, a page for each benchmark and model, and the items behind every number."""
    input:
        tables=all_tables(),
        figures=all_figures(),
        comparisons=all_comparisons(),
        items_files=behind(PATHS.items, EVIDENCE),
        requests=behind(PATHS.requests, EVIDENCE),
        responses=behind(PATHS.responses, EVIDENCE),
        scores=[path for paths in EVIDENCE.values() for path in paths],
        provenance=behind(PATHS.scored_from, EVIDENCE),
        judge_requests=behind(PATHS.judge_requests, JUDGED),
        judgements=behind(PATHS.judgements, JUDGED),
        paid=[path for _, _, path in paid()],
        cards=ship(["laboratory/cards.csv"]),
        tokens=[tokens_of(key) for key in TOLD],
        ledger=[PATHS.ledger] if there(PATHS.ledger) else [],
        summaries=all_summaries(),
    output:
        page=report(PATHS.report, caption="captions/report.rst", category="report"),
        pages=directory(PATHS.report_pages),
    log:
        PATHS.log("write_report"),
    group:
        "report"
    conda:
        "../envs/figures.yaml"
    params:
        code=code("write_report", list(CONFIG.benchmarks)),
        shipped=digest_of([*PAGE_FILES, *ship(["laboratory/cards.csv"])]),
        models={name: that_change(entry, "tables") for name, entry in CONFIG.models.items()},
        runs=[
            (name, protocol, CONFIG.benchmark(name), CONFIG.benchmarks[name].data, selection.left_out(CONFIG, name))
            for name, protocol in RUNS
        ],
        tables=tables(),
        figures=figures(),
        comparisons=comparisons(),
        evidence=[(key, len(paths), is_judged(key)) for key, paths in EVIDENCE.items()],
        paid=[(payer, task) for payer, task, _ in paid()],
        tokens=TOLD,
        missing=missing(),
    script:
        "../scripts/write_report.py"


PRINTED = shipped_names(["published/*"])


localrules:
    replicate,


use rule summarise_scores as summarise_released with:
    input:
        scores=released(scored),
        provenance=released(scored_from),
        resources=shipped("tables"),
        own=own_file,
        checksums=own_checksums,
    output:
        table=PATHS.released_table,
        provenance=PATHS.released_table_from,
    log:
        PATHS.log("summarise_released", "benchmark", "table"),
    benchmark:
        PATHS.run_time("summarise_released", "benchmark", "table")
    params:
        protocol="released",
        models=released_models,
        published_as=published_as(released_models),
        options=lambda w: that_change(CONFIG.options(w.benchmark, "released"), "tables"),


rule replicate:
    """Hold every printed table and figure against what public outputs give, cell by cell, with the reasons."""
    input:
        tables=replicated(),
        published=ship(PRINTED),
    output:
        ledger=PATHS.ledger,
        text=PATHS.ledger_text,
    log:
        PATHS.log("replicate"),
    conda:
        "../envs/data.yaml"
    params:
        code=code("replicate"),
        shipped=digest_of(ship(PRINTED)),
        published=PRINTED,
        published_as=published_as(released_models),
    script:
        "../scripts/replicate.py"
