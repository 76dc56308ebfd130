# Simulation studies: every metric measured on simulated models, where the configuration asks for it.
#   REQUIRED INPUTS: items/{benchmark}.parquet
#   OUTPUTS: simulation/{benchmark}/{study}/{setting}.csv, a row for each seed and headline; simulation/settings.csv and
#            cards.csv; plan/{benchmark}/{protocol}.csv, plan.csv and plan.txt

from biasatlas.workflow import selection

EXPERIMENTS = selection.experiment_files(CONFIG, PATHS)


rule run_experiment:
    """Measure simulated models of one setting, as many as there are seeds."""
    input:
        items_file=PATHS.items,
        resources=find.files_for(find.resources("experiment")),
    output:
        runs=PATHS.experiment,
    log:
        PATHS.log("run_experiment", "benchmark", "study", "setting"),
    benchmark:
        PATHS.run_time("run_experiment", "benchmark", "study", "setting")
    wildcard_constraints:
        study=any_of(selection.simulated_studies(CONFIG)),
        setting=any_of(dict.fromkeys(each["setting"] for each in EXPERIMENTS)),
    conda:
        "../envs/data.yaml"
    params:
        step=find.step(
            "experiment", "run_experiment", study=find.study, seeds=CONFIG.simulation.seeds if CONFIG.simulation else 0
        ),
    script:
        "../scripts/run_experiment.py"


rule simulation:
    """Every metric on models whose ground truth is known: coverage, false alarms, power, and a validity card each."""
    input:
        experiments=files(EXPERIMENTS),
        cards=files(CARDS["shipped"]),
    output:
        settings=PATHS.simulation_settings,
        cards=PATHS.simulation_cards,
        text=PATHS.simulation_text,
    log:
        PATHS.log("simulation"),
    conda:
        "../envs/data.yaml"
    params:
        step=find.step("", "run_study", experiments=EXPERIMENTS, shipped=CARDS["said"]),
    script:
        "../scripts/run_study.py"


rule plan_effects:
    """What a benchmark could find on the configured data: models without bias answer its questions."""
    input:
        items_file=PATHS.items,
        requests=find.files_for(find.planned_requests),
        resources=find.files_for(find.resources("plan")),
        cards=files(CARDS),
    output:
        table=PATHS.planned_effects,
    log:
        PATHS.log("plan_effects", "benchmark", "protocol"),
    benchmark:
        PATHS.run_time("plan_effects", "benchmark", "protocol")
    conda:
        "../envs/data.yaml"
    params:
        step=find.step(
            "plan",
            "plan_effects",
            requests=find.planned_requests,
            categories=find.categories_of(find.planned_requests),
            cards=CARDS,
            families=find.families_in_rounds,
        ),
    script:
        "../scripts/plan_effects.py"


rule plan:
    """The smallest effect that each metric of the configuration could find, before any model is asked."""
    input:
        tables=[PATHS.planned_effects.format(benchmark=name, protocol=p) for name, p in targets.planned_effects()],
    output:
        table=f"{PATHS.plan}.csv",
        text=f"{PATHS.plan}.txt",
    log:
        PATHS.log("plan"),
    conda:
        "../envs/data.yaml"
    params:
        step=find.step("", "plan"),
    script:
        "../scripts/plan.py"
