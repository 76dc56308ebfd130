# Paths, lookups and targets that the other files share. What needs a test lives in scripts/biasatlas/plan.py.
import sys
from pathlib import Path

sys.path.insert(0, str(Path(workflow.basedir) / "scripts"))

from biasatlas import plan
from biasatlas.code import code_hash
from biasatlas.config import load_benchmark, load_config, load_protocol
from biasatlas.errors import UserError
from biasatlas.sources import load_sources

try:
    CONFIG = load_config(config, workflow.configfiles)
    BENCHMARKS = {name: load_benchmark(name) for name in CONFIG.benchmarks}
    PROTOCOLS = {run: load_protocol(*run) for run in plan.runs(CONFIG)}
except UserError as error:
    sys.exit(f"error: {error}")

RESULTS = CONFIG.results
REPORT = f"{RESULTS}/report/index.html"
SOURCES = load_sources()

ITEMS = f"{RESULTS}/items/{{benchmark}}.parquet"
REQUESTS = f"{RESULTS}/requests/{{benchmark}}/{{protocol}}/{{task}}.parquet"
WEIGHTS = f"{RESULTS}/models/{{model}}"
RESPONSES = f"{RESULTS}/responses/{{model}}/{{benchmark}}/{{protocol}}/{{task}}.parquet"
SCORES = f"{RESULTS}/scores/{{model}}/{{benchmark}}/{{protocol}}/{{task}}/{{category}}.csv"
TABLE = f"{RESULTS}/tables/{{benchmark}}/{{protocol}}/{{table}}.csv"
FIGURE = f"{RESULTS}/figures/{{benchmark}}/{{protocol}}/{{figure}}.svg"
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


def data_files(benchmark):
    """Path upstream -> path here of a benchmark's raw data, published or the sample that ships with the workflow."""
    if CONFIG.benchmarks[benchmark].data == "sample":
        folder = Path(workflow.basedir) / "resources" / "samples" / BENCHMARKS[benchmark].sample
        return {str(path.relative_to(folder)): str(path) for path in sorted(folder.rglob("*")) if path.is_file()}
    return source_files(*BENCHMARKS[benchmark].sources)


def source_files(*sources):
    """Path upstream -> path here of the downloaded files of some sources."""
    return {file.path: f"{CONFIG.data}/{name}/{file.path}" for name in sources for file in SOURCES[name].files}


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


wildcard_constraints:
    benchmark=any_of(CONFIG.benchmarks),
    protocol=any_of(dict.fromkeys(protocol for _, protocol in PROTOCOLS)),
    model=any_of(CONFIG.models),
    task=any_of({task for spec in BENCHMARKS.values() for task in spec.tasks}),
    table=any_of({table for spec in BENCHMARKS.values() for table in spec.tables}),
    figure=any_of({figure for spec in BENCHMARKS.values() for figure in spec.figures}),
