# Models before they answer: those from the hub, planted ones (the ground truth), and endpoints.
#   REQUIRED INPUTS: the internet or a filled cache of the hub's; resources/planted/; an endpoint that is up
#   OUTPUTS: models/{model}.json, a commit; models/{model}/{language}/ in Hugging Face format; models/{model}.checked


localrules:
    fetch_model,
    check_endpoint,


def entry(wildcards):
    """What of a model's entry can change its answers."""
    return that_change(CONFIG.models[wildcards.model], "answers")


def fetched(wildcards):
    """What of a model's entry says what is fetched."""
    return {
        name: getattr(CONFIG.models[wildcards.model], name, False)
        for name in ("source", "revision", "trust_remote_code")
    }


def made_ready(how):
    """Names of the configured models that are made ready in some way."""
    return [name for name, entry in CONFIG.models.items() if KINDS[entry.kind].ready(entry) == how]


rule fetch_model:
    """Fetch a model into the Hugging Face cache, since other jobs may have no network, and record its commit."""
    output:
        fetched=PATHS.fetched,
    log:
        PATHS.log("fetch_model", "model"),
    wildcard_constraints:
        model=any_of(made_ready("fetched")),
    retries: 1
    conda:
        "../envs/fetch.yaml"
    params:
        model=fetched,
    script:
        "../scripts/fetch_model.py"


rule train_planted:
    """Train a tiny language model of one language on a synthetic corpus with a known bias."""
    input:
        grammar=lambda w: ship([f"planted/{w.language}.yaml"]),
    output:
        expand(PATHS.weights, file=WEIGHT_FILES, allow_missing=True),
    log:
        PATHS.log("train_planted", "model", "language"),
    benchmark:
        PATHS.run_time("train_planted", "model", "language")
    wildcard_constraints:
        model=any_of(made_ready("weights")),
        language=any_of(LANGUAGES),
    conda:
        "../envs/model.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        code=code("train_planted"),
        shipped=lambda w: digest_of(ship([f"planted/{w.language}.yaml"])),
        model=entry,
    script:
        "../scripts/train_planted.py"


rule check_endpoint:
    """Check, before anything is paid for, that an endpoint is there and knows our key and the model."""
    output:
        touch(PATHS.checked),
    log:
        PATHS.log("check_endpoint", "model"),
    wildcard_constraints:
        model=any_of(made_ready("checked")),
    priority: 100
    conda:
        "../envs/api.yaml"
    params:
        model=entry,
    script:
        "../scripts/check_endpoint.py"
