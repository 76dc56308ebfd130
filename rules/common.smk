# What every rule file shares. No rule is here; inputs and params that depend on a job's wildcards are methods of
# `find`, `jobs` and `construct`, plain Python that tests call without Snakemake.
#   WILDCARDS: benchmark, protocol, task, category, model, shard, table, figure, comparison, step, source, language, study,
#              setting

sys.path.insert(0, str(ROOT / "scripts"))

import biasatlas

# Python loads one library of a name: this workflow would plan by the other's protocols and code.
if biasatlas.ROOT != ROOT.resolve():
    sys.exit(
        f"error: {ROOT}: the library of another Bias Atlas was loaded before: {biasatlas.ROOT}. "
        "Take one version of this workflow in a run."
    )

from snakemake.io import sourcecache_entry
from snakemake.logging import logger
from biasatlas.benchmarks.contract import OUTCOMES
from biasatlas.errors import UserError
from biasatlas.workflow import failures, selection
from biasatlas.workflow.run import begin
from biasatlas.workflow.config import load_config
from biasatlas.validation import check_files
from biasatlas.workflow.construction_lookup import ConstructionLookup
from biasatlas.workflow.lookup import Lookup
from biasatlas.workflow.model_jobs import ModelJobs
from biasatlas.workflow.paths import WEIGHT_FILES, Paths, files, link_shipped_files
from biasatlas.workflow.preflight import check_preflight
from biasatlas.workflow.targets import Targets


def file_exists(path):
    """Whether a file exists, on whatever storage. Snakemake's ``exists`` works only in files like this one."""
    return exists(path)


try:
    link_shipped_files()
    if workflow.is_main_process:
        check_files(workflow.configfiles)
    CONFIG = load_config(config, workflow.configfiles)
    if workflow.is_main_process:
        check_preflight(CONFIG, ", ".join(map(str, workflow.configfiles)))
    PATHS = Paths(CONFIG.results, CONFIG.data)
    # After jobs failed, the environment says which results are still to be made.
    targets = Targets(CONFIG, PATHS, os.environ.get(failures.LEVEL, ""), file_exists)
except UserError as error:
    sys.exit(f"error: {error}")


def cached_source(path):
    """A shipped file as a source, which Snakemake brings to wherever the job runs."""
    return sourcecache_entry(path, path)


find = Lookup(targets, unchanged=ancient, local=local, source=cached_source)
construct = ConstructionLookup(find)
CARDS = find.cards()  # what simulation studies say of each metric
# The fonts of Chinese in figures.
FONT = find.shipped("fonts/*.otf")
jobs = ModelJobs(CONFIG, PATHS, unchanged=ancient, local=local)

# Printed at every start, even of a dry run, where hooks do not run. Replication needs nothing that may be left out.
if workflow.is_main_process and not any(re.search("^replicate$|/replication/", word) for word in sys.argv):
    notes = [f"note: {sentence}\n" for name in CONFIG.benchmarks for sentence in selection.notes(CONFIG, name)]
    print(*notes, sep="", end="", file=sys.stderr)


def any_of(names):
    """A wildcard constraint: one of ``names``, or nothing at all if there are none."""
    return "|".join(map(re.escape, names)) or "(?!)"


def named(what):
    """Names of what the configured benchmarks' specs declare: their "tasks", "tables" or "figures"."""
    return sorted({name for benchmark in CONFIG.benchmarks for name in getattr(CONFIG.spec(benchmark), what)})


def shown(label, category="{benchmark}"):
    """Keywords of ``report(...)``: a table, figure or provenance file by its ``label`` in Snakemake's own report."""
    return {
        "caption": f"captions/{label.split()[0]}.rst",
        "category": category,
        "subcategory": "{protocol}",
        "labels": {"result": label},
    }


wildcard_constraints:
    source=any_of(find.sources),
    benchmark=any_of(CONFIG.benchmarks),
    protocol=any_of(dict.fromkeys(protocol for _, protocol in targets.runs + targets.framed)),
    model=any_of(CONFIG.models),
    shard=r"\d+-of-\d+",
    task=any_of(named("tasks")),
    table=any_of(named("tables")),
    figure=any_of(named("figures")),


onstart:
    begin(workflow)


onsuccess:
    # Not after the first stage of a run, which makes requests alone.
    if workflow.is_main_process and os.path.exists(PATHS.report) and "--until" not in sys.argv:
        logger.info(f"The report: {PATHS.report}. Click a number to see the sentences behind it.")


onerror:
    if workflow.is_main_process:
        failures.go_on(log, sys.argv[1:])
