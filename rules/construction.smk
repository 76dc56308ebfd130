# Construction: new questions in the manner of DBB, written by a language model from the items of other benchmarks.
#   REQUIRED INPUTS: `construction` in the configuration, raw data of CrowS-Pairs, StereoSet, BBQ or SOFA
#   OUTPUTS: construction/{step}.csv, each row with its verdict; construction/verdicts.csv;
#   construction/dataset/ and construction/evaluation_sheet.csv, and construction/evaluation.csv once it is filled
#   in; construction/variations.csv, of DBB's own questions

from biasatlas.benchmarks.dbb.construct import DATASET, STEPS

PROMPTS = shipped_names(["prompts/dbb/construct/*"])


def setting(name, default=None):
    """A key of the section `construction`."""
    return getattr(CONFIG.construction, name) if CONFIG.construction else default


#: Sources of the wording of others that the writer is asked in.
CONSTRUCTION_SOURCES = [] if setting("wording", "ours") == "ours" else ["wording/dbb", "wording/dbb_code"]
CONSTRUCTION_WORDING = [ancient(PATHS.source.format(source=Path(name).name)) for name in CONSTRUCTION_SOURCES]


def construction_benchmarks():
    """Benchmarks whose items new questions are made from."""
    possible = ("crows_pairs", "stereoset", "bbq") if CONFIG.construction else ()
    return [name for name in possible if name in CONFIG.benchmarks]


def construction_sources():
    """(source, name of a raw file or folder) of the items that new questions are made from."""
    sofa = [("sofa", "sofa.csv")] if setting("sofa") else []
    return [(source, name) for source in construction_benchmarks() for name in raw_names(source)] + sofa


def construction_inputs():
    """Paths of :func:`construction_sources`."""
    sofa = [setting("sofa")] if setting("sofa") else []
    return [path for source in construction_benchmarks() for path in raw_inputs(source)] + sofa


def prices():
    """Prices of a million prompt and completion tokens of the writer; nothing for a model that runs here."""
    entry = CONFIG.models.get(setting("writer"))
    return [getattr(entry, f"price_{kind}_per_million", 0) for kind in ("input", "output")]


def rows_before(wildcards):
    """The rows that a step asks about: those of the step before."""
    return PATHS.constructed.format(step=("items", *STEPS)[STEPS.index(wildcards.step)])


rule start_construction:
    """Gather the items that new questions are made from."""
    input:
        raw=construction_inputs(),
        checksums=[path for source in construction_benchmarks() for path in raw_checksums(source)],
    output:
        rows=PATHS.constructed.format(step="items"),
    log:
        PATHS.log("start_construction"),
    conda:
        "../envs/data.yaml"
    params:
        code=code("start_construction"),
        raw=construction_sources(),
        items_per_source=setting("items_per_source"),
        seed=setting("seed"),
    script:
        "../scripts/start_construction.py"


rule estimate_construction:
    """Say what every step of a construction will cost at most."""
    input:
        rows=rules.start_construction.output.rows,
        prompts=ship(PROMPTS),
        wording=CONSTRUCTION_WORDING,
        wording_checksums=expand(PATHS.checksums, source=[Path(name).name for name in CONSTRUCTION_SOURCES]),
    output:
        costs=f"{PATHS.construction}/costs.csv",
    log:
        PATHS.log("estimate_construction"),
    conda:
        "../envs/data.yaml"
    params:
        code=code("estimate_construction"),
        shipped=digest_of(ship(PROMPTS)),
        prompts=PROMPTS,
        wording=CONSTRUCTION_SOURCES,
        words=setting("wording"),
        steps=STEPS,
        prices=prices(),
    script:
        "../scripts/estimate_construction.py"


rule construct_step:
    """Ask the writer about every row that is left, and read its replies: kept, refined or rejected, with the reason."""
    input:
        ready=ready(writer),
        rows=rows_before,
        prompts=ship(PROMPTS),
        wording=CONSTRUCTION_WORDING,
        wording_checksums=expand(PATHS.checksums, source=[Path(name).name for name in CONSTRUCTION_SOURCES]),
    output:
        rows=PATHS.constructed,
    log:
        PATHS.log("construct_step", "step"),
    benchmark:
        PATHS.run_time("construct_step", "step")
    wildcard_constraints:
        step=any_of(STEPS),
    conda:
        environment(writer)
    threads: work(writer, "threads")
    resources:
        gpu=work(writer, "gpu"),
        api=work(writer, "api"),
        mem_mb=work(writer, "mem_mb"),
        runtime=work(writer, "runtime"),
    params:
        code=code("construct_step"),
        shipped=digest_of(ship(PROMPTS)),
        prompts=PROMPTS,
        wording=CONSTRUCTION_SOURCES,
        words=setting("wording"),
        step=lambda w: w.get("step", STEPS[-1]),
        model=identity(writer),
    script:
        "../scripts/construct_step.py"


rule summarise_construction:
    """Count what each step kept, refined, skipped and rejected."""
    input:
        steps=expand(PATHS.constructed, step=STEPS),
    output:
        verdicts=f"{PATHS.construction}/verdicts.csv",
    log:
        PATHS.log("summarise_construction"),
    conda:
        "../envs/data.yaml"
    params:
        code=code("summarise_construction"),
    script:
        "../scripts/summarise_construction.py"


rule collect_construction:
    """Write the questions that were made as a dataset in DBB's format, and a sheet of 100 of them to judge by hand."""
    input:
        rows=PATHS.constructed.format(step=STEPS[-1]),
    output:
        dataset=[f"{PATHS.construction}/dataset/{name}" for name in DATASET],
        sheet=f"{PATHS.construction}/evaluation_sheet.csv",
    log:
        PATHS.log("collect_construction"),
    conda:
        "../envs/data.yaml"
    params:
        code=code("collect_construction"),
    script:
        "../scripts/collect_construction.py"


rule summarise_evaluation:
    """Sum up the sheet in which the user judged the constructed questions by hand."""
    input:
        sheet=setting("evaluation") or [],
    output:
        table=f"{PATHS.construction}/evaluation.csv",
    log:
        PATHS.log("summarise_evaluation"),
    conda:
        "../envs/data.yaml"
    params:
        code=code("summarise_evaluation"),
    script:
        "../scripts/summarise_evaluation.py"


rule start_variations:
    """Gather DBB's questions, for which the writer is to make variations."""
    input:
        raw=raw_inputs("dbb") if "dbb" in CONFIG.benchmarks else [],
        checksums=raw_checksums("dbb") if "dbb" in CONFIG.benchmarks else [],
        resources=ship(resource_names("dbb", "items")),
    output:
        rows=f"{PATHS.construction}/variations/questions.csv",
    log:
        PATHS.log("start_variations"),
    conda:
        "../envs/data.yaml"
    params:
        code=code("start_variations", ["dbb"]),
        shipped=digest_of(ship(resource_names("dbb", "items"))),
        raw=raw_names("dbb") if "dbb" in CONFIG.benchmarks else [],
    script:
        "../scripts/start_variations.py"


use rule estimate_construction as estimate_variations with:
    input:
        rows=rules.start_variations.output.rows,
        prompts=ship(PROMPTS),
        wording=CONSTRUCTION_WORDING,
        wording_checksums=expand(PATHS.checksums, source=[Path(name).name for name in CONSTRUCTION_SOURCES]),
    output:
        costs=f"{PATHS.construction}/variations/costs.csv",
    log:
        PATHS.log("estimate_variations"),
    params:
        steps=STEPS[-1:],


use rule construct_step as write_variations with:
    input:
        ready=ready(writer),
        rows=rules.start_variations.output.rows,
        prompts=ship(PROMPTS),
        wording=CONSTRUCTION_WORDING,
        wording_checksums=expand(PATHS.checksums, source=[Path(name).name for name in CONSTRUCTION_SOURCES]),
    output:
        rows=f"{PATHS.construction}/variations/rows.csv",
    log:
        PATHS.log("write_variations"),
    benchmark:
        PATHS.run_time("write_variations")


rule collect_variations:
    """Write the variations as the file that semi-generation needs: `benchmarks.dbb.files.variations`."""
    input:
        rows=f"{PATHS.construction}/variations/rows.csv",
    output:
        variations=f"{PATHS.construction}/variations.csv",
    log:
        PATHS.log("collect_variations"),
    conda:
        "../envs/data.yaml"
    params:
        code=code("collect_variations"),
    script:
        "../scripts/collect_variations.py"
