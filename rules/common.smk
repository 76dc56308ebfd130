# What several rule files share. "Input of", "Param of": the value is a function of the job's wildcards.
#   WILDCARDS: benchmark, protocol, task, category, model, shard, table, figure, comparison, step, source, language

sys.path.insert(0, str(ROOT / "scripts"))

from biasatlas.benchmarks.contract import REPLIES
from biasatlas.benchmarks.languages import LANGUAGES
from biasatlas.benchmarks.registry import resource_names
from biasatlas.errors import UserError
from biasatlas.marks import that_change
from biasatlas.models.kinds import KINDS
from biasatlas.resources import names as shipped_names
from biasatlas.sources import load_sources
from biasatlas.workflow import across, failures, laboratory, selection
from biasatlas.workflow.config import load_config
from biasatlas.workflow.preflight import check_feasible
from biasatlas.workflow.config.files import check_files
from biasatlas.workflow.identity import answer_identity, code_of, code_of_step, digest_of, digest_of_texts
from biasatlas.workflow.needs import needs
from biasatlas.workflow.paths import WEIGHT_FILES, Paths
from biasatlas.workflow.plan import plan

try:
    if workflow.is_main_process:
        check_files(workflow.configfiles)
    CONFIG = load_config(config, workflow.configfiles)
    if workflow.is_main_process:
        check_feasible(CONFIG, ", ".join(map(str, workflow.configfiles)))
    RUNS = {run: CONFIG.options(*run) for run in selection.runs(CONFIG)}
except UserError as error:
    sys.exit(f"error: {error}")

PATHS = Paths(CONFIG.results, CONFIG.data)
# Where jobs failed: what is still to be made, "tables" and figures of what is left, or only the "report" of them.
PARTIAL = os.environ.get(failures.LEVEL, "")
SOURCES = load_sources()


def any_of(names):
    """A wildcard constraint: one of ``names``, and nothing at all where there are none."""
    return "|".join(map(re.escape, names)) or "(?!)"


def models_of(*kinds):
    """Names of the configured models of some kinds."""
    return [name for name, entry in CONFIG.models.items() if entry.kind in kinds]


def ship(names):
    """Paths of files that ship with the workflow, by their names below resources/; never on remote storage."""
    return [local(str(SHIPPED / name)) for name in names]


def shipped(step):
    """Input of: the shipped files that a step of a benchmark reads."""
    return lambda wildcards: ship(resource_names(CONFIG.benchmark(wildcards.benchmark), step))


def shipped_digest(step):
    """Param of: what is in those files, whatever their times say."""
    return lambda wildcards: digest_of(shipped(step)(wildcards))


def code(script, *modules):
    """Param of: the code behind a rule. ``{benchmark}`` in the name of a module is the benchmark of the wildcard's name."""

    def digest(wildcards):
        return code_of_step(script, CONFIG.benchmark(wildcards.get("benchmark", "")), *modules)

    return digest


def options(upto):
    """Param of: the options of a protocol that can change what is made up to a stage."""
    return lambda wildcards: that_change(CONFIG.options(wildcards.benchmark, wildcards.protocol), upto)


def categories(wildcards):
    """Categories of a task that the configuration asks for."""
    return selection.categories(CONFIG, wildcards.benchmark, wildcards.task)


def raw_names(benchmark):
    """What a benchmark's raw data lie in: names of its sources, or upstream paths of its sample's or the user's files."""
    if CONFIG.benchmarks[benchmark].data == "full":
        return list(CONFIG.spec(benchmark).sources)
    if own := CONFIG.benchmarks[benchmark].folder:
        return selection.own_names(CONFIG, benchmark)
    folder = f"samples/{CONFIG.spec(benchmark).sample}"
    return [name.removeprefix(f"{folder}/") for name in shipped_names([f"{folder}/**/*"])]


def raw_inputs(benchmark):
    """Paths of :func:`raw_names`. Folders count by their checksums alone: Snakemake knows only a folder's time."""
    if CONFIG.benchmarks[benchmark].data == "full":
        return [ancient(PATHS.source.format(source=source)) for source in raw_names(benchmark)]
    if own := CONFIG.benchmarks[benchmark].folder:
        return [local(f"{os.path.normpath(own)}/{name}") for name in raw_names(benchmark)]
    return ship(f"samples/{CONFIG.spec(benchmark).sample}/{name}" for name in raw_names(benchmark))


def raw_checksums(benchmark):
    """Checksums of what was fetched of a benchmark's raw data; what ships is compared file by file."""
    return expand(PATHS.checksums, source=raw_names(benchmark)) if CONFIG.benchmarks[benchmark].data == "full" else []


def model(wildcards):
    """The model under test."""
    return wildcards.model


def judge(wildcards):
    """The model that judges a benchmark's answers."""
    return CONFIG.benchmarks[wildcards.benchmark].judge


def writer(wildcards):
    """The model that writes new questions."""
    return CONFIG.construction.writer


def identity(of):
    """Param of: what of a model's entry can change its answers, and the versions of what computes and reads them."""
    return lambda w: answer_identity(CONFIG.models[of(w)], CONFIG.benchmark(w.get("benchmark")))


def environment(of):
    """Environment of: the packages that a kind of model needs."""
    return lambda w: f"../envs/{kind_of(of(w)).environment(CONFIG.models[of(w)])}.yaml"


def kind_of(model):
    """The kind of a configured model."""
    return KINDS[CONFIG.models[model].kind]


def work(of, resource):
    """Resource, or threads, of: what a job of a model takes."""
    return lambda wildcards, input, attempt: needs(CONFIG.models[of(wildcards)], attempt, input)[resource]


wildcard_constraints:
    source=any_of(SOURCES),
    benchmark=any_of(CONFIG.benchmarks),
    protocol=any_of(dict.fromkeys(protocol for _, protocol in RUNS)),
    model=any_of(CONFIG.models),
    shard=r"\d+-of-\d+",
    task=any_of({task for name in CONFIG.benchmarks for task in CONFIG.spec(name).tasks}),
    table=any_of({table for name in CONFIG.benchmarks for table in CONFIG.spec(name).tables}),
    figure=any_of({figure for name in CONFIG.benchmarks for figure in CONFIG.spec(name).figures}),
