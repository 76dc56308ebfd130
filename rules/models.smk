# Models before they answer: those from the hub, and planted ones, the ground truth.
#   REQUIRED INPUTS: the internet or a filled cache of the hub's; resources/planted/
#   OUTPUTS: models/{model}.json, a commit; models/{model}/{language}/ in Hugging Face format


localrules:
    fetch_model,


rule fetch_model:
    """Fetch a model into the Hugging Face cache, since other jobs may have no network, and record its commit."""
    output:
        fetched=FETCHED,
    log:
        log_of("fetch_model", "model"),
    wildcard_constraints:
        model=any_of(hub_models()),
    retries: 1
    conda:
        "../envs/fetch.yaml"
    params:
        code=code_hash("fetch_model"),
        model=lambda w: model_params(w.model),
    script:
        "../scripts/fetch_model.py"


rule train_planted:
    """Train a tiny language model of one language on a synthetic corpus with a known bias."""
    input:
        grammar=str(ROOT / "resources/planted/{language}.yaml"),
    output:
        weights=directory(WEIGHTS),
    log:
        log_of("train_planted", "model", "language"),
    benchmark:
        bench_of("train_planted", "model", "language")
    wildcard_constraints:
        model=any_of(models_of("planted")),
        language=any_of(LANGUAGES),
    conda:
        "../envs/model.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        code=code_hash("train_planted"),
        odds_ratio=lambda w: CONFIG.models[w.model].odds_ratio,
        seed=lambda w: CONFIG.models[w.model].seed,
    script:
        "../scripts/train_planted.py"
