# The laboratory: every metric measured on models whose truth is known, where the configuration asks for it.
#   REQUIRED INPUTS: items/{benchmark}.parquet
#   OUTPUTS: laboratory/{study}/{setting}.csv, a row for each seed and headline; laboratory/settings.csv and cards.csv
#   WILDCARDS: study, setting


STUDIES = laboratory.studies(CONFIG)
EXPERIMENTS = [(name, setting) for name, study in STUDIES.items() for setting in study.settings()]


def studied(wildcards):
    """The benchmark of a study."""
    return STUDIES[wildcards.study].benchmark


def bench_names(wildcards):
    """The shipped files of every step of a study's benchmark."""
    return list(dict.fromkeys(name for step in laboratory.STEPS for name in resource_names(studied(wildcards), step)))


def bench_files(wildcards):
    """Paths of :func:`bench_names`."""
    return ship(bench_names(wildcards))


def bench_code(wildcards):
    """The code of every step of a study's benchmark, of the known models and the laboratory."""
    return code_of("run_experiment", *(f"benchmarks.{studied(wildcards)}.{step}" for step in laboratory.MODULES))


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
        items_file=lambda w: PATHS.items.format(benchmark=studied(w)),
        resources=bench_files,
    output:
        runs=PATHS.experiment,
    log:
        PATHS.log("run_experiment", "study", "setting"),
    benchmark:
        PATHS.run_time("run_experiment", "study", "setting")
    wildcard_constraints:
        study=any_of(STUDIES),
        setting=any_of(dict.fromkeys(setting for _, setting in EXPERIMENTS)),
    conda:
        "../envs/data.yaml"
    params:
        code=bench_code,
        shipped=lambda w: digest_of(bench_files(w)),
        names=bench_names,
        study=study_of,
        seeds=CONFIG.laboratory.seeds if CONFIG.laboratory else 0,
    script:
        "../scripts/run_experiment.py"


rule laboratory:
    """What every metric says of models whose truth is known: coverage, false alarms, power, and a validity card each."""
    input:
        runs=[PATHS.experiment.format(study=study, setting=setting) for study, setting in EXPERIMENTS],
    output:
        settings=PATHS.laboratory_settings,
        cards=PATHS.laboratory_cards,
        text=PATHS.laboratory_text,
    log:
        PATHS.log("laboratory"),
    conda:
        "../envs/data.yaml"
    params:
        code=code("laboratory"),
        experiments=EXPERIMENTS,
    script:
        "../scripts/laboratory.py"
