# The laboratory: every metric measured on models whose truth is known, where the configuration asks for it.
#   REQUIRED INPUTS: items/{benchmark}.parquet
#   OUTPUTS: laboratory/{benchmark}/{study}/{setting}.csv, a row for each seed and headline; laboratory/settings.csv and
#            cards.csv
#   WILDCARDS: benchmark, study, setting


STUDIES = laboratory.studies(CONFIG)
EXPERIMENTS = laboratory.experiments(CONFIG)


def bench_names(wildcards):
    """The shipped files of every step of a benchmark."""
    benchmark = CONFIG.benchmark(wildcards.benchmark)
    return list(dict.fromkeys(name for step in laboratory.STEPS for name in resource_names(benchmark, step)))


def bench_files(wildcards):
    """Paths of :func:`bench_names`."""
    return ship(bench_names(wildcards))


def study_of(wildcards):
    """What of a study decides its experiments, but for the protocol's options."""
    study = STUDIES[wildcards.study]
    options = that_change(CONFIG.options(study.benchmark, study.protocol), "tables")
    values = study.model_dump(include={"tasks", "categories", "headlines"})
    settings = list(study.settings())
    return values | {"settings": settings, "setting": study.settings()[wildcards.setting], "options": options}


rule run_experiment:
    """Measure known models of one setting, as many as there are seeds."""
    input:
        items_file=PATHS.items,
        resources=bench_files,
    output:
        runs=PATHS.experiment,
    log:
        PATHS.log("run_experiment", "benchmark", "study", "setting"),
    benchmark:
        PATHS.run_time("run_experiment", "benchmark", "study", "setting")
    wildcard_constraints:
        study=any_of(STUDIES),
        setting=any_of(dict.fromkeys(each.setting for each in EXPERIMENTS)),
    conda:
        "../envs/data.yaml"
    params:
        code=code("run_experiment"),
        shipped=lambda w: digest_of(bench_files(w)),
        names=bench_names,
        study=study_of,
        seeds=CONFIG.laboratory.seeds if CONFIG.laboratory else 0,
    script:
        "../scripts/run_experiment.py"


rule laboratory:
    """What every metric says of models whose truth is known: coverage, false alarms, power, and a validity card each."""
    input:
        runs=[PATHS.experiment.format(**each._asdict()) for each in EXPERIMENTS],
        shipped=ship(["laboratory/cards.csv"]),
    output:
        settings=PATHS.laboratory_settings,
        cards=PATHS.laboratory_cards,
        text=PATHS.laboratory_text,
    log:
        PATHS.log("laboratory"),
    conda:
        "../envs/data.yaml"
    params:
        code=code("laboratory", list({each.benchmark: None for each in EXPERIMENTS})),
        shipped=digest_of(ship(["laboratory/cards.csv"])),
        experiments=[(CONFIG.benchmarks[each.benchmark].data, *each[1:]) for each in EXPERIMENTS],
    script:
        "../scripts/laboratory.py"


def planned():
    """(benchmark, protocol) whose findable effects are planned: those whose scores are evidence."""
    return [(name, protocol) for name, protocol in RUNS if name in across.weighed(CONFIG, protocol)]


def planned_tasks(wildcards):
    """Tasks that are asked and scored without a judge."""
    name, protocol = wildcards.benchmark, wildcards.protocol
    declared = CONFIG.spec(name).tasks
    return [
        task
        for task in selection.tasks_asked(CONFIG, name)
        if not declared[task].judged and not selection.is_ordered(CONFIG, name, protocol, task)
    ]


def planned_requests(wildcards):
    """Their requests."""
    return expand(PATHS.requests, task=planned_tasks(wildcards), allow_missing=True)


def planned_categories(wildcards):
    """Categories of each of those tasks."""
    return {task: selection.categories(CONFIG, wildcards.benchmark, task) for task in planned_tasks(wildcards)}


def planned_shipped(wildcards):
    """What is in the files that a plan reads."""
    return digest_of([*scoring_files(wildcards), *ship(["laboratory/cards.csv"])])


def planned_options(wildcards):
    """The options that decide what is asked, and what the answers say."""
    return that_change(CONFIG.options(wildcards.benchmark, wildcards.protocol), "tables")


rule plan_effects:
    """What a benchmark could find on the configured data: models without bias answer its questions."""
    input:
        items_file=PATHS.items,
        requests=planned_requests,
        resources=scoring_files,
        cards=ship(["laboratory/cards.csv"]),
    output:
        table=f"{PATHS.plan}/{{benchmark}}/{{protocol}}.csv",
    log:
        PATHS.log("plan_effects", "benchmark", "protocol"),
    benchmark:
        PATHS.run_time("plan_effects", "benchmark", "protocol")
    conda:
        "../envs/data.yaml"
    params:
        code=code("plan_effects"),
        shipped=planned_shipped,
        names=scoring_names,
        options=planned_options,
        categories=planned_categories,
    script:
        "../scripts/plan_effects.py"


rule plan:
    """The smallest effect that each metric of the configuration could find, before any model is asked."""
    input:
        tables=[f"{PATHS.plan}/{name}/{protocol}.csv" for name, protocol in planned()],
    output:
        table=f"{PATHS.plan}.csv",
        text=f"{PATHS.plan}.txt",
    log:
        PATHS.log("plan"),
    conda:
        "../envs/data.yaml"
    params:
        code=code("plan"),
    script:
        "../scripts/plan.py"
