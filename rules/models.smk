# Planted models: the ground truth.
#   REQUIRED INPUTS: resources/planted/
#   OUTPUTS: models/{model}/ in Hugging Face format


rule train_planted:
    """Train a tiny language model on a synthetic corpus with a known bias."""
    input:
        grammar=resource_files("planted/*.yaml"),
    output:
        weights=directory(WEIGHTS),
    log:
        log_of("train_planted", "model"),
    benchmark:
        bench_of("train_planted", "model")
    wildcard_constraints:
        model=any_of(models_of("planted")),
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
