# Construction: new questions in the manner of DBB, written by a language model from the items of other benchmarks.
#   REQUIRED INPUTS: `construction` in the configuration, raw data of CrowS-Pairs, StereoSet, BBQ or SOFA
#   OUTPUTS: construction/{step}.csv, each row with its verdict, verdicts.csv, dataset/, evaluation_sheet.csv and, once
#            filled in, evaluation.csv; variations.csv, of DBB's own questions

from biasatlas.benchmarks.dbb import CONSTRUCTED_FILES, CONSTRUCTION_STEPS

CONSTRUCTED_FROM = construct.raw()
PROMPTS = construct.prompts()
QUESTIONS = construct.questions()
QUESTION_RESOURCES = find.shipped_for("dbb", "items")


rule start_construction:
    """Gather the items that new questions are made from."""
    input:
        raw=files(CONSTRUCTED_FROM),
        checksums=construct.raw_checksums(),
    output:
        rows=PATHS.constructed.format(step="items"),
    log:
        PATHS.log("start_construction"),
    conda:
        "../envs/data.yaml"
    params:
        step=find.step(
            "",
            "start_construction",
            raw=CONSTRUCTED_FROM,
            items_per_source=construct.setting("items_per_source"),
            seed=construct.setting("seed"),
        ),
    script:
        "../scripts/start_construction.py"


rule estimate_construction:
    """Say what every step of a construction will cost at most."""
    input:
        rows=rules.start_construction.output.rows,
        resources=files(PROMPTS),
        template_checksums=construct.prompt_checksums(),
    output:
        costs=f"{PATHS.construction}/costs.csv",
    log:
        PATHS.log("estimate_construction"),
    conda:
        "../envs/data.yaml"
    params:
        step=find.step(
            "",
            "estimate_construction",
            resources=PROMPTS,
            shipped=construct.prompt_digest(),
            templates=construct.setting("templates"),
            steps=CONSTRUCTION_STEPS,
            prices=construct.prices(),
        ),
    script:
        "../scripts/estimate_construction.py"


rule construct_step:
    """Ask the writer about every row left, and parse its replies: kept, refined or rejected, with the reason."""
    input:
        ready=jobs.ready("writer"),
        rows=construct.rows_before,
        resources=files(PROMPTS),
        template_checksums=construct.prompt_checksums(),
    output:
        rows=PATHS.constructed,
    log:
        PATHS.log("construct_step", "step"),
    benchmark:
        PATHS.run_time("construct_step", "step")
    wildcard_constraints:
        step=any_of(CONSTRUCTION_STEPS),
    conda:
        jobs.environment("writer")
    threads: jobs.threads("writer")
    resources:
        **jobs.resources("writer"),
    params:
        step=find.step(
            "",
            "construct_step",
            resources=PROMPTS,
            shipped=construct.prompt_digest(),
            templates=construct.setting("templates"),
            name=construct.step_name,
            model=jobs.identity("writer"),
        ),
    script:
        "../scripts/construct_step.py"


rule collect_construction:
    """Write what was made as a dataset in DBB's format, a sheet of 100 to judge by hand, and counts of each step."""
    input:
        steps=expand(PATHS.constructed, step=CONSTRUCTION_STEPS),
    output:
        verdicts=f"{PATHS.construction}/verdicts.csv",
        dataset=[f"{PATHS.construction}/dataset/{name}" for name in CONSTRUCTED_FILES],
        sheet=f"{PATHS.construction}/evaluation_sheet.csv",
    log:
        PATHS.log("collect_construction"),
    conda:
        "../envs/data.yaml"
    params:
        step=find.step("", "collect_construction"),
    script:
        "../scripts/collect_construction.py"


rule summarise_evaluation:
    """Sum up the sheet in which the user judged the constructed questions by hand."""
    input:
        sheet=construct.setting("evaluation") or [],
    output:
        table=f"{PATHS.construction}/evaluation.csv",
    log:
        PATHS.log("summarise_evaluation"),
    conda:
        "../envs/data.yaml"
    params:
        step=find.step("", "summarise_evaluation"),
    script:
        "../scripts/summarise_evaluation.py"


rule start_variations:
    """Gather DBB's questions, for which the writer is to make variations."""
    input:
        raw=files(QUESTIONS),
        checksums=construct.question_checksums(),
        resources=files(QUESTION_RESOURCES),
    output:
        rows=f"{PATHS.construction}/variations/questions.csv",
    log:
        PATHS.log("start_variations"),
    conda:
        "../envs/data.yaml"
    params:
        step=find.step(
            "",
            "start_variations",
            raw=QUESTIONS,
            resources=QUESTION_RESOURCES,
            shipped=find.digest(QUESTION_RESOURCES),
        ),
    script:
        "../scripts/start_variations.py"


use rule estimate_construction as estimate_variations with:
    input:
        rows=rules.start_variations.output.rows,
        resources=files(PROMPTS),
        template_checksums=construct.prompt_checksums(),
    output:
        costs=f"{PATHS.construction}/variations/costs.csv",
    log:
        PATHS.log("estimate_variations"),
    params:
        step=find.step(
            "",
            "estimate_construction",
            resources=PROMPTS,
            shipped=construct.prompt_digest(),
            templates=construct.setting("templates"),
            steps=CONSTRUCTION_STEPS[-1:],
            prices=construct.prices(),
        ),


use rule construct_step as write_variations with:
    input:
        ready=jobs.ready("writer"),
        rows=rules.start_variations.output.rows,
        resources=files(PROMPTS),
        template_checksums=construct.prompt_checksums(),
    output:
        rows=f"{PATHS.construction}/variations/rows.csv",
    log:
        PATHS.log("write_variations"),
    benchmark:
        PATHS.run_time("write_variations")


rule collect_variations:
    """Write the variations as the file for semi-generation: `benchmarks.dbb.files.variations`."""
    input:
        rows=f"{PATHS.construction}/variations/rows.csv",
        costs=f"{PATHS.construction}/variations/costs.csv",
    output:
        variations=f"{PATHS.construction}/variations.csv",
    log:
        PATHS.log("collect_variations"),
    conda:
        "../envs/data.yaml"
    params:
        step=find.step("", "collect_variations"),
    script:
        "../scripts/collect_variations.py"


rule construction:
    """New questions as DBB's: each step's rows with their verdicts, a dataset, a sheet to judge it by hand."""
    input:
        targets.construction(),
        rules.collect_construction.output if CONSTRUCTED_FROM else [],
