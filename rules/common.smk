# Paths, lookups and targets that the other files share. What needs a test lives in scripts/biasatlas/plan.py.
import sys
from pathlib import Path

# Not workflow.basedir, which is another folder where another workflow imports this one.
ROOT = Path(str(workflow.current_basedir)).parent
sys.path.insert(0, str(ROOT / "scripts"))

from biasatlas.workflow import selection as plan
from biasatlas.workflow.identity import code_hash
from biasatlas.workflow.config import is_hub_id, load_benchmark, load_config, load_protocol
from biasatlas.errors import UserError
from biasatlas.sources import load_sources
from biasatlas.benchmarks.contract import LANGUAGES

try:
    CONFIG = load_config(config, workflow.configfiles)
    BENCHMARKS = {name: load_benchmark(name) for name in CONFIG.benchmarks}
    PROTOCOLS = {run: load_protocol(*run) for run in plan.runs(CONFIG)}
    plan.check_judges(CONFIG, PROTOCOLS)
except UserError as error:
    sys.exit(f"error: {error}")

RESULTS = CONFIG.results
REPORT = f"{RESULTS}/report/index.html"
SOURCES = load_sources()

DATA = f"{CONFIG.data}/{{source}}"
ITEMS = f"{RESULTS}/items/{{benchmark}}.parquet"
REQUESTS = f"{RESULTS}/requests/{{benchmark}}/{{protocol}}/{{task}}.parquet"
WEIGHTS = f"{RESULTS}/models/{{model}}/{{language}}"
FETCHED = f"{RESULTS}/models/{{model}}.json"
CHECKED = f"{RESULTS}/store/{{model}}/checked"
STORE = f"{RESULTS}/store/{{model}}"
RESPONSES = f"{RESULTS}/responses/{{model}}/{{benchmark}}/{{protocol}}/{{task}}.parquet"
SHARD = f"{RESULTS}/responses/{{model}}/{{benchmark}}/{{protocol}}/{{shard}}/{{task}}.parquet"
SCORES = f"{RESULTS}/scores/{{model}}/{{benchmark}}/{{protocol}}/{{task}}/{{category}}.csv"
SCORED_FROM = f"{RESULTS}/scores/{{model}}/{{benchmark}}/{{protocol}}/{{task}}/provenance.json"
TABLE = f"{RESULTS}/tables/{{benchmark}}/{{protocol}}/{{table}}.csv"
FIGURE = f"{RESULTS}/figures/{{benchmark}}/{{protocol}}/{{figure}}.svg"
JUDGE_REQUESTS = f"{RESULTS}/judge/requests/{{model}}/{{benchmark}}/{{protocol}}/{{task}}.parquet"
JUDGEMENTS = f"{RESULTS}/judge/responses/{{model}}/{{benchmark}}/{{protocol}}/{{task}}.parquet"
ORDERS = f"{RESULTS}/judge/orders/{{benchmark}}/{{task}}.parquet"
CONSTRUCTED = f"{RESULTS}/construction/{{step}}.csv"
EVALUATION = f"{RESULTS}/construction/evaluation.csv"
CONSTRUCTION_STEPS = (
    "quality_filter",
    "bias_summary",
    "raw_concepts",
    "post_hoc_check",
    "context_and_first_option",
    "second_option",
    "three_sentence_check",
    "nine_variations",
)
COMPARISON = f"{RESULTS}/tables/comparison/{{protocol}}/{{comparison}}.csv"
COMPARISONS = {"scores": "The benchmarks side by side (Table 1 of DBB)", "refusals": "Refusal rates (Table 5 of DBB)"}
COMPARED = [("bbq", "bias")] + [
    (name, table) for name in ("crows_pairs", "stereoset") for table in ("prompted", "scores")
]
MATCH = f"{RESULTS}/tables/comparison/{{protocol}}/bbq_match.csv"
MATCH_FIGURE = f"{RESULTS}/figures/comparison/{{protocol}}/bbq_match.svg"
REPLICATION = f"{RESULTS}/replication/{{benchmark}}/{{table}}.csv"
LOG = f"{RESULTS}/logs/{{rule}}/{{name}}.log"
BENCH = f"{RESULTS}/benchmarks/{{rule}}/{{name}}.tsv"


def kept(template, **values):
    """Fill in some wildcards of a path and keep the others."""
    for name, value in values.items():
        template = template.replace(f"{{{name}}}", value)
    return template


def log_of(rule, *wildcards):
    """Log of a rule; one name serves rule, script and log."""
    return LOG.format(rule=rule, name="-".join(f"{{{name}}}" for name in wildcards) or rule)


def bench_of(rule, *wildcards):
    """Run time and memory of a rule's jobs."""
    return BENCH.format(rule=rule, name="-".join(f"{{{name}}}" for name in wildcards) or rule)


def models_of(*kinds):
    """Names of the configured models of some kinds."""
    return [name for name, entry in CONFIG.models.items() if entry.kind in kinds]


def any_of(names):
    """A wildcard constraint: one of ``names``, and nothing at all where there are none."""
    return "|".join(map(re.escape, names)) or "(?!)"


def describe(name, text):
    """Give a rule that a loop wrote its docstring; a workflow that imports this one may rename rules or leave some out."""
    name = workflow.modifier.modify_rulename(name)
    if workflow.is_rule(name):
        workflow.get_rule(name).docstring = text


def resource_files(pattern):
    """Files that ship with the workflow, below resources/."""
    return sorted(map(str, (ROOT / "resources").glob(pattern)))


def raw_inputs(benchmark):
    """What a benchmark's raw data lie in: the folders of its sources, or the files of its sample."""
    if CONFIG.benchmarks[benchmark].data == "sample":
        return list(raw_files(benchmark).values())
    return [DATA.format(source=source) for source in BENCHMARKS[benchmark].sources]


def raw_files(benchmark):
    """Path upstream -> path here of a benchmark's raw data, without the user's own files."""
    if CONFIG.benchmarks[benchmark].data == "sample":
        folder = ROOT / "resources" / "samples" / BENCHMARKS[benchmark].sample
        return {str(path.relative_to(folder)): str(path) for path in sorted(folder.rglob("*")) if path.is_file()}
    return {path: here for source in BENCHMARKS[benchmark].sources for path, here in source_files(source).items()}


def source_files(source):
    """Path upstream -> path here of the files of a source; its folder, where no table lists them."""
    if not SOURCES[source].files:
        return {source: DATA.format(source=source)}
    return {file.path: f"{DATA.format(source=source)}/{file.path}" for file in SOURCES[source].files}


def prompts_of(wildcards):
    """Prompt wordings of a benchmark."""
    return resource_files(f"prompts/{wildcards.benchmark}/*")


def weights_of(model, language=None):
    """The folder of a planted model, or what names the commit of one from the hub; a user's folder is no file of ours."""
    if CONFIG.models[model].kind == "planted":
        return WEIGHTS.format(model=model, language=language)
    return FETCHED.format(model=model) if model in hub_models() else []


def hub_models():
    """Names of the configured models that come from the Hugging Face hub."""
    return [name for name in models_of("hf", "masked") if is_hub_id(CONFIG.models[name].source)]


def model_params(model, language=None):
    """What of a model's entry can change its answers; limits, prices and what only changes speed cannot.

    A planted model has a checkpoint for each language; the other kinds need none said.
    """
    entry = CONFIG.models[model]
    if entry.kind == "planted":
        return {"source": WEIGHTS.format(model=model, language=language), "dtype": "float32"}
    if entry.kind == "api":
        changing = {
            "base_url",
            "model",
            "dialect",
            "system",
            "extra_body",
            "top_logprobs",
            "prompt_logprobs",
            "sampling",
        }
        return entry.model_dump(include=changing)
    return entry.model_dump(exclude={"kind", "published_as", "size_billion", "gpu", "token_budget", "shards"})


def origin_params(model):
    """What of a model's entry goes into the provenance: what can change its answers, the seed of its training included."""
    entry = CONFIG.models[model]
    if entry.kind in ("planted", "released"):
        return entry.model_dump(exclude={"published_as"})
    return {"kind": entry.kind} | model_params(model)


def language_of(benchmark):
    """The language that a benchmark asks in."""
    return BENCHMARKS[benchmark].language


def judge_of(benchmark):
    """The model that judges a benchmark's answers."""
    return CONFIG.benchmarks[benchmark].judge


def ready_inputs(model, language):
    """What must be there before a judge or a writer can answer: its weights, or its checked endpoint."""
    return CHECKED.format(model=model) if CONFIG.models[model].kind == "api" else weights_of(model, language)


def orders_of(wildcards):
    """What a judge says of the order of each item's parts, where a protocol has it asked before requests are built."""
    options = PROTOCOLS[wildcards.benchmark, wildcards.protocol]
    return ORDERS if plan.ordered(wildcards.benchmark, wildcards.task, options) else []


def judge_store(wildcards):
    """Where a judge's answers are kept: an endpoint's in one place, where its budget is, a local judge's for each job.

    Jobs of local models share no store: what one finds there would change how the rest is batched, and with it the last
    digits of a float.
    """
    judge = judge_of(wildcards.benchmark)
    part = "/".join(wildcards)
    folder = STORE.format(model=judge)
    return folder if CONFIG.models[judge].kind == "api" else f"{folder}/judge/{part}"


def prices_of(model):
    """Prices of a million prompt and completion tokens; nothing for a model that runs here."""
    entry = CONFIG.models.get(model)
    return [getattr(entry, f"price_{kind}_per_million", 0) for kind in ("input", "output")]


def construction_sources():
    """Source -> path upstream -> path here of the items that new questions are made from."""
    if not CONFIG.construction:
        return {}
    files = {name: raw_files(name) for name in ("crows_pairs", "stereoset", "bbq") if name in BENCHMARKS}
    return files | ({"sofa": {"sofa.csv": CONFIG.construction.sofa}} if CONFIG.construction.sofa else {})


def step_before(step):
    """The step of the construction that comes before ``step``."""
    return ("items", *CONSTRUCTION_STEPS)[CONSTRUCTION_STEPS.index(step)]


def constructed():
    """What became of every item, step by step, and of the manual evaluation, where the configuration asks for them."""
    if not construction_sources():
        return []
    return [f"{RESULTS}/construction/verdicts.csv"] + ([EVALUATION] if CONFIG.construction.evaluation else [])


def endpoint_jobs():
    """Rule name, benchmark, tasks and models of the jobs that call endpoints.

    Those that return no log-probabilities of the prompt leave out the likelihood tasks, so they have a rule of their own.
    """
    for benchmark in BENCHMARKS:
        for name, likelihood in (("call", False), ("call_with_likelihood", True)):
            models = [model for model in models_of("api") if CONFIG.models[model].prompt_logprobs == likelihood]
            if models and plan.tasks(CONFIG, benchmark, models[0]):
                yield f"{name}_{benchmark}", benchmark, plan.tasks(CONFIG, benchmark, models[0]), models


def sharded_models():
    """Names of the configured models that answer a benchmark in more than one job."""
    return [name for name in models_of("hf") if CONFIG.models[name].shards > 1]


def local_jobs():
    """Rule name, benchmark, responses, models and wildcards of the jobs in which local causal models answer."""
    whole = [name for name in models_of("hf", "planted") if name not in sharded_models()]
    for benchmark in BENCHMARKS:
        yield f"answer_{benchmark}", benchmark, RESPONSES, whole, ("model", "protocol")
        if sharded_models():
            yield f"answer_{benchmark}_shard", benchmark, SHARD, sharded_models(), ("model", "protocol", "shard")


def shards_of(model):
    """Names of the shards of a model's responses: 1-of-3, 2-of-3, 3-of-3."""
    shards = CONFIG.models[model].shards
    return [f"{number}-of-{shards}" for number in range(1, shards + 1)]


def masked_jobs():
    """Benchmark and tasks of the jobs that masked language models do."""
    models = models_of("masked")
    for benchmark in BENCHMARKS:
        if models and (tasks := plan.tasks(CONFIG, benchmark, models[0])):
            yield benchmark, tasks


def comparable_tables(protocol):
    """(benchmark, table) -> path of the tables that stand side by side in DBB's Tables 1 and 5."""
    return {
        (benchmark, table): TABLE.format(benchmark=benchmark, protocol=protocol, table=table)
        for benchmark, table in COMPARED
        if (benchmark, protocol) in PROTOCOLS and table in plan.tables(CONFIG, benchmark, protocol)
    }


def matched_models(protocol):
    """Models that both DBB and BBQ are run with under a protocol."""
    if not {("dbb", protocol), ("bbq", protocol)} <= set(PROTOCOLS):
        return []
    asked = plan.models(CONFIG, "bbq", protocol)
    return [
        model
        for model in plan.models(CONFIG, "dbb", protocol)
        if model in asked and "MCQ" in plan.tasks(CONFIG, "dbb", model)
    ]


def matched(benchmark, path):
    """Input function: ``path`` (scores_of, provenance_of) of one of the matched benchmarks, for the matched models."""
    return lambda w: path(benchmark, w.protocol, "bias", matched_models(w.protocol))


def all_comparisons():
    """DBB's Tables 1 and 5 under every protocol that at least two of their benchmarks are run with; Figures 5 to 7."""
    protocols = dict.fromkeys(protocol for _, protocol in PROTOCOLS)
    tables = [
        COMPARISON.format(protocol=protocol, comparison=comparison)
        for protocol in protocols
        if len({benchmark for benchmark, _ in comparable_tables(protocol)}) > 1
        for comparison in COMPARISONS
    ]
    matches = [path.format(protocol=protocol) for protocol in protocols for path in (MATCH, MATCH_FIGURE)]
    return tables + [path for path in matches if matched_models(Path(path).parent.name)]


def tasks_of(benchmark):
    """Tasks of a benchmark that the configuration asks for."""
    return [task for task in BENCHMARKS[benchmark].tasks if plan.categories(CONFIG, benchmark, task)]


def release_of(wildcards):
    """The source that holds the outputs of a released model."""
    entry = CONFIG.models[wildcards.model]
    return load_benchmark(entry.benchmark).released[entry.release]


def gpus(model):
    """GPUs that a job of a model takes; 0 for those that need none here."""
    return getattr(CONFIG.models[model], "gpu", 0)


def model_threads(model):
    """CPU cores that a job of a model takes: one where the work is elsewhere or tiny."""
    return 8 if CONFIG.models[model].kind in ("hf", "masked") else 1


def size_billion(model):
    """Parameters of a model that is loaded here, in billions."""
    return getattr(CONFIG.models[model], "size_billion", 0.001)


def scores_of(benchmark, protocol, table, models):
    """Score files that a table reads: those of ``models`` that have them."""
    return [
        SCORES.format(model=model, benchmark=benchmark, protocol=protocol, task=task, category=category)
        for model in models
        for task in plan.tasks(CONFIG, benchmark, model)
        if task in BENCHMARKS[benchmark].tables[table].tasks
        for category in plan.categories(CONFIG, benchmark, task)
    ]


def provenance_of(benchmark, protocol, table, models):
    """What the scores that a table reads were made from, a file for each model and task."""
    scores = scores_of(benchmark, protocol, table, models)
    return list(dict.fromkeys(str(Path(path).parent / "provenance.json") for path in scores))


def replicable_tables():
    """Tables with published numbers that need no model: from released outputs, or from other published tables."""
    released = {name for name in BENCHMARKS for model in models_of("released") if plan.tasks(CONFIG, name, model)}
    return [
        REPLICATION.format(benchmark=name, table=table)
        for name, spec in BENCHMARKS.items()
        for table, declared in spec.tables.items()
        if not declared.file and (not declared.tasks or (declared.published and name in released))
    ]


def published_names():
    """Our name of a model -> its name in the published tables."""
    return {name: entry.published_as for name, entry in CONFIG.models.items() if entry.published_as}


def own_file(wildcards):
    """The user's own file that a table is computed from, where it is computed from one."""
    return CONFIG.benchmarks[wildcards.benchmark].files.get(
        BENCHMARKS[wildcards.benchmark].tables[wildcards.table].file, []
    )


def published_of(wildcards):
    """Published tables of a benchmark."""
    return resource_files(f"published/{wildcards.benchmark}_*.csv")


def all_tables(benchmark=None):
    """Every table of the configuration, or of one of its benchmarks."""
    return [
        TABLE.format(benchmark=name, protocol=protocol, table=table)
        for name, protocol in PROTOCOLS
        if benchmark in (None, name)
        for table in plan.tables(CONFIG, name, protocol)
    ]


def all_figures(benchmark=None):
    """Every figure of the configuration, or of one of its benchmarks."""
    return [
        FIGURE.format(benchmark=name, protocol=protocol, figure=figure)
        for name, protocol in PROTOCOLS
        if benchmark in (None, name)
        for figure in plan.figures(CONFIG, name, protocol)
    ]


def paid_responses():
    """Model -> responses and judgements that it was paid for, for every endpoint."""
    paid = {}
    for benchmark, protocol in PROTOCOLS:
        for model in plan.models(CONFIG, benchmark, protocol):
            for task in plan.tasks(CONFIG, benchmark, model):
                names = {"model": model, "benchmark": benchmark, "protocol": protocol, "task": task}
                answers = [(model, RESPONSES)]
                if BENCHMARKS[benchmark].tasks[task].judged:
                    answers.append((judge_of(benchmark), JUDGEMENTS))
                if plan.ordered(benchmark, task, PROTOCOLS[benchmark, protocol]):
                    answers.append((judge_of(benchmark), ORDERS))
                for payer, path in answers:
                    if CONFIG.models[payer].kind == "api":
                        paid.setdefault(payer, {})[path.format(**names)] = None
    # The orders serve every model and protocol, and were paid for once.
    return {payer: list(paths) for payer, paths in paid.items()}


def report_runs():
    """What the report shows of each configured benchmark and protocol."""
    return [
        {
            "benchmark": name,
            "protocol": protocol,
            "data": CONFIG.benchmarks[name].data,
            "left_out": plan.left_out(CONFIG, name),
            "tables": {
                table: TABLE.format(benchmark=name, protocol=protocol, table=table)
                for table in plan.tables(CONFIG, name, protocol)
            },
            "figures": {
                figure: FIGURE.format(benchmark=name, protocol=protocol, figure=figure)
                for figure in plan.figures(CONFIG, name, protocol)
            },
        }
        for name, protocol in PROTOCOLS
    ]


wildcard_constraints:
    source=any_of(SOURCES),
    benchmark=any_of(CONFIG.benchmarks),
    protocol=any_of(dict.fromkeys(protocol for _, protocol in PROTOCOLS)),
    model=any_of(CONFIG.models),
    shard=r"\d+-of-\d+",
    task=any_of({task for spec in BENCHMARKS.values() for task in spec.tasks}),
    table=any_of({table for spec in BENCHMARKS.values() for table in spec.tables}),
    comparison=any_of(COMPARISONS),
    figure=any_of({figure for spec in BENCHMARKS.values() for figure in spec.figures}),
