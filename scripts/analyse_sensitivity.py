"""Say what holds whatever the choice of analysis, and draw it (rule analyse_sensitivity)."""

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.comparisons.declared import METRICS
from biasatlas.benchmarks.comparisons.figures import draw_multiverse
from biasatlas.benchmarks.comparisons.multiverse import KEYS, sensitivity_table, with_protocols
from biasatlas.benchmarks.comparisons.pairs import joined
from biasatlas.benchmarks.shared.plots import save, style
from biasatlas.benchmarks.shared.styles import styles
from biasatlas.files import read_csv, write_table
from biasatlas.workflow.job import job

with job(snakemake) as this, style():
    universes = {
        protocol: joined([read_csv(path).fillna({"part": ""}) for path in paths], KEYS)
        for protocol, paths in this.given("tables").items()
    }
    universe = with_protocols(universes.pop(this.protocol), universes)
    neutral = {
        (name, metric): declared.neutral
        for name, benchmark in this.step["benchmarks"].items()
        for metric, declared in registry.spec_view(benchmark, "sensitivity").metrics.items()
    }
    write_table(universe, snakemake.output.multiverse, METRICS)
    write_table(sensitivity_table(universe, neutral), snakemake.output.sensitivity, METRICS)
    save(draw_multiverse(universe, neutral, styles(list(this.config.models))), snakemake.output.figure)
