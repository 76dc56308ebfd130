# Models before they answer: from the hub, planted (the ground truth), the user's own; and the check before a run asks.
#   REQUIRED INPUTS: the internet or a filled cache of the hub's; resources/planted/; folders; endpoints; requests
#   OUTPUTS: models/{model}.json, a commit; models/{model}/{language}/ and questions-of-{benchmark}/ in Hugging Face
#            format; models/{model}.checked; check.csv and check.txt: what will be asked of which model, what not and why, and what it may cost

from biasatlas.benchmarks.contract import LANGUAGES
from biasatlas.workflow.plan import asked_with, check_tree, plan

FAILED = failures.unchecked(CONFIG, PATHS, file_exists) if targets.partial == failures.CHECK else {}
CHECK = check_tree(find, jobs, f"{PATHS.construction}/costs.csv" if construct.raw() else "", FAILED)


rule fetch_model:
    """Fetch a model into the Hugging Face cache, since other jobs may have no network, and record its commit."""
    output:
        fetched=PATHS.fetched,
    log:
        PATHS.log("fetch_model", "model"),
    wildcard_constraints:
        model=any_of(jobs.prepared_by("fetched")),
    retries: 1
    localrule: True
    conda:
        "../envs/fetch.yaml"
    params:
        step=find.step("", model=jobs.fetched),
    script:
        "../scripts/fetch_model.py"


rule train_planted:
    """Train a tiny language model of one language on a synthetic corpus with a known bias."""
    input:
        grammar=find.grammar,
    output:
        expand(PATHS.weights, file=WEIGHT_FILES, allow_missing=True),
    log:
        PATHS.log("train_planted", "model", "language"),
    benchmark:
        PATHS.run_time("train_planted", "model", "language")
    wildcard_constraints:
        model=any_of(jobs.prepared_by("weights")),
        language=any_of(LANGUAGES),
    # Most other jobs wait for this one, so it goes first.
    priority: 50
    conda:
        "../envs/model.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        step=find.step("", "train_planted", grammar=find.grammar_digest, model=jobs.entry),
    script:
        "../scripts/train_planted.py"


rule train_on_questions:
    """Train a tiny language model on a benchmark's own questions, answered with a known bias."""
    input:
        items_file=PATHS.items,
        requests=find.files_for(find.taught),
    output:
        expand(PATHS.taught, file=WEIGHT_FILES, allow_missing=True),
    log:
        PATHS.log("train_on_questions", "model", "benchmark"),
    benchmark:
        PATHS.run_time("train_on_questions", "model", "benchmark")
    wildcard_constraints:
        model=any_of(jobs.prepared_by("weights")),
        benchmark=any_of(name for name in CONFIG.benchmarks if CONFIG.spec(name).taught_by_questions),
    conda:
        "../envs/model.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        step=find.step("", "train_on_questions", requests=find.taught, model=jobs.entry),
    script:
        "../scripts/train_on_questions.py"


rule check_model:
    """Check, before anything is computed or paid for, whether a folder is a whole model, or an endpoint knows us."""
    input:
        ready=jobs.opened_from,
        folder=jobs.local_model_files,
    output:
        checked=PATHS.checked,
    log:
        PATHS.log("check_model", "model"),
    wildcard_constraints:
        model=any_of(jobs.checked),
    priority: 100
    localrule: True
    conda:
        jobs.environment("model")
    params:
        step=find.step("", model=jobs.entry),
    script:
        "../scripts/check_model.py"


rule check:
    """What the run will ask of each model, what not and why, and what it may cost at most: before anything is asked."""
    input:
        counted=files(CHECK),
    output:
        table=PATHS.check,
        text=PATHS.check_text,
    log:
        PATHS.log("check"),
    priority: 100
    conda:
        "../envs/model.yaml" if jobs.of_kinds("hf") else "../envs/data.yaml"
    params:
        step=find.step(
            "",
            counted=CHECK,
            shipped=asked_with(find),
            plan=plan(CONFIG, FAILED),
            rates=jobs.rates(),
            writer=construct.setting("writer"),
        ),
    script:
        "../scripts/check.py"


rule check_cost:
    """Go on to endpoints only where the run may cost no more than `max_cost`."""
    input:
        table=PATHS.check,
    output:
        touch(PATHS.accepted),
    log:
        PATHS.log("check_cost"),
    priority: 100
    localrule: True
    conda:
        "../envs/data.yaml"
    params:
        step=find.step("", max_cost=CONFIG.max_cost),
    script:
        "../scripts/check_cost.py"
