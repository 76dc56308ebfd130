# Construction: new questions in the manner of DBB, written by a language model from the items of other benchmarks.
#   REQUIRED INPUTS: `construction` in the configuration, raw data of CrowS-Pairs, StereoSet, BBQ or SOFA
#   OUTPUTS: construction/{step}.csv, each row with its verdict; construction/verdicts.csv;
#   construction/dataset/ and construction/evaluation_sheet.csv, and construction/evaluation.csv once it is filled
#   in; construction/variations.csv, of DBB's own questions

WRITER = CONFIG.construction.writer if CONFIG.construction else None


rule start_construction:
    """Gather the items that new questions are made from, and what every step will cost at most."""
    input:
        raw=[path for name in construction_sources() if name in BENCHMARKS for path in raw_inputs(name)],
        sofa=CONFIG.construction.sofa or [] if CONFIG.construction else [],
    output:
        rows=CONSTRUCTED.format(step="items"),
        costs=f"{RESULTS}/construction/costs.csv",
    log:
        log_of("start_construction"),
    conda:
        "../envs/data.yaml"
    params:
        code=code_hash("start_construction"),
        files=construction_sources(),
        items_per_source=CONFIG.construction.items_per_source if CONFIG.construction else 0,
        prices=prices_of(WRITER),
    script:
        "../scripts/start_construction.py"


rule construct_step:
    """Ask the writer about every row that is left, and read its replies: kept, refined or rejected, with the reason."""
    input:
        ready=lambda w: ready_inputs(WRITER, "en"),
        rows=lambda w: CONSTRUCTED.format(step=step_before(w.step)),
        prompts=resource_files("prompts/dbb/construct/*"),
    output:
        rows=CONSTRUCTED,
    log:
        log_of("construct_step", "step"),
    benchmark:
        bench_of("construct_step", "step")
    wildcard_constraints:
        step=any_of(CONSTRUCTION_STEPS),
    conda:
        lambda w: "../envs/model-gpu.yaml" if gpus(WRITER) else "../envs/model.yaml"
    threads: lambda w: model_threads(WRITER)
    resources:
        api=lambda w: int(CONFIG.models[WRITER].kind == "api"),
        gpu=lambda w: gpus(WRITER),
        mem_mb=lambda w, attempt: int((4000 + 3000 * size_billion(WRITER)) * attempt),
        runtime=lambda w, attempt: int((60 + 60 * size_billion(WRITER)) * attempt),
    params:
        code=code_hash("construct_step"),
        step=lambda w: w.step,
        writer=WRITER,
        model=lambda w: model_params(WRITER, "en"),
        store=lambda w: STORE.format(model=WRITER),
    script:
        "../scripts/construct_step.py"


rule summarise_construction:
    """Count what each step kept, refined, skipped and rejected."""
    input:
        steps=[CONSTRUCTED.format(step=step) for step in CONSTRUCTION_STEPS],
    output:
        verdicts=f"{RESULTS}/construction/verdicts.csv",
    log:
        log_of("summarise_construction"),
    conda:
        "../envs/data.yaml"
    params:
        code=code_hash("summarise_construction"),
    script:
        "../scripts/summarise_construction.py"


rule collect_construction:
    """Write the questions that were made as a dataset in DBB's format, and a sheet of 100 of them to judge by hand."""
    input:
        rows=CONSTRUCTED.format(step=CONSTRUCTION_STEPS[-1]),
    output:
        dataset=directory(f"{RESULTS}/construction/dataset"),
        sheet=f"{RESULTS}/construction/evaluation_sheet.csv",
    log:
        log_of("collect_construction"),
    conda:
        "../envs/data.yaml"
    params:
        code=code_hash("collect_construction"),
    script:
        "../scripts/collect_construction.py"


rule summarise_evaluation:
    """Sum up the sheet in which the user judged the constructed questions by hand."""
    input:
        sheet=lambda w: CONFIG.construction.evaluation,
    output:
        table=EVALUATION,
    log:
        log_of("summarise_evaluation"),
    conda:
        "../envs/data.yaml"
    params:
        code=code_hash("summarise_evaluation"),
    script:
        "../scripts/summarise_evaluation.py"


rule start_variations:
    """Gather DBB's questions, for which the writer is to make variations, and what that will cost at most."""
    input:
        raw=raw_inputs("dbb") if "dbb" in BENCHMARKS else [],
    output:
        rows=f"{RESULTS}/construction/variations/questions.csv",
        costs=f"{RESULTS}/construction/variations/costs.csv",
    log:
        log_of("start_variations"),
    conda:
        "../envs/data.yaml"
    params:
        code=code_hash("start_variations"),
        step=CONSTRUCTION_STEPS[-1],
        files=raw_files("dbb") if "dbb" in BENCHMARKS else {},
        prices=prices_of(WRITER),
    script:
        "../scripts/start_variations.py"


use rule construct_step as write_variations with:
    input:
        ready=lambda w: ready_inputs(WRITER, "en"),
        rows=rules.start_variations.output.rows,
        prompts=resource_files("prompts/dbb/construct/*"),
    output:
        rows=f"{RESULTS}/construction/variations/rows.csv",
    log:
        log_of("write_variations"),
    benchmark:
        bench_of("write_variations")
    params:
        code=code_hash("construct_step"),
        step=CONSTRUCTION_STEPS[-1],
        writer=WRITER,
        model=lambda w: model_params(WRITER, "en"),
        store=lambda w: STORE.format(model=WRITER),


rule collect_variations:
    """Write the variations as the file that semi-generation needs: `benchmarks.dbb.files.variations`."""
    input:
        rows=f"{RESULTS}/construction/variations/rows.csv",
    output:
        variations=f"{RESULTS}/construction/variations.csv",
    log:
        log_of("collect_variations"),
    conda:
        "../envs/data.yaml"
    params:
        code=code_hash("collect_variations"),
    script:
        "../scripts/collect_variations.py"
