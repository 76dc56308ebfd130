# Models before they answer: those from the hub, planted ones (the ground truth), and a look at what a person brought.
#   REQUIRED INPUTS: the internet or a filled cache of the hub's; resources/planted/; folders; endpoints that are up
#   OUTPUTS: models/{model}.json, a commit; models/{model}/{language}/ in Hugging Face format; models/{model}.checked


from biasatlas.models.entry import is_hub_id


localrules:
    fetch_model,
    check_model,


def entry(wildcards):
    """What of a model's entry can change its answers."""
    return that_change(CONFIG.models[wildcards.model], "answers")


def fetched(wildcards):
    """What of a model's entry says what is fetched."""
    keys = ("source", "revision", "trust_remote_code", "adapter", "adapter_revision")
    return {name: getattr(CONFIG.models[wildcards.model], name, None) for name in keys}


def ready(of):
    """Input of: what must be there before a model can answer: its weights, its commit, its outputs, a check."""

    def files(wildcards):
        name = of(wildcards)
        checks = [PATHS.checked] * (name in CHECKED)
        accepted = [PATHS.accepted] * (CONFIG.accept_cost is not None and kind_of(name).calls_api)
        return made(name, wildcards) + expand(checks, model=name) + accepted

    return files


def made(name, wildcards):
    """What a model is opened from, where a rule makes it."""
    entry = CONFIG.models[name]
    match kind_of(name).ready(entry):
        case "weights":
            asked = wildcards.get("benchmark", "dbb")  # which a writer makes questions for
            return expand(PATHS.weights, model=name, language=CONFIG.spec(asked).language, file=WEIGHT_FILES)
        case "fetched":
            return [PATHS.fetched.format(model=name)]
        case "release":
            source = CONFIG.spec(entry.benchmark).released[entry.release]
            return [ancient(PATHS.source.format(source=source)), PATHS.checksums.format(source=source)]
        case "files":
            return [local(path) for path in entry.files.values()]
    return []


def brought(wildcards):
    """The files of a model and of its adapter that lie in folders: other ones are another model."""
    entry = CONFIG.models[wildcards.model]
    sources = filter(None, (getattr(entry, key, None) for key in ("source", "adapter")))
    folders = [Path(source).expanduser() for source in sources if not is_hub_id(source)]
    return [local(str(path)) for folder in folders for path in sorted(folder.glob("[!.]*")) if path.is_file()]


def made_ready(how):
    """Names of the configured models that are made ready in some way."""
    return [name for name, entry in CONFIG.models.items() if KINDS[entry.kind].ready(entry) == how]


CHECKED = [name for name in CONFIG.models if kind_of(name).check]


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
    # What most waits for goes first.
    priority: 50
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


rule check_model:
    """Look, before anything is computed or paid for, whether a folder is a whole model, or an endpoint knows us."""
    input:
        ready=lambda w: made(w.model, w),
        folder=brought,
    output:
        checked=PATHS.checked,
    log:
        PATHS.log("check_model", "model"),
    wildcard_constraints:
        model=any_of(CHECKED),
    priority: 100
    conda:
        environment(model)
    params:
        model=entry,
    script:
        "../scripts/check_model.py"
