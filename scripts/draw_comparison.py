"""Draw DBB beside BBQ, or the differences of models on the same items (rule draw_comparison)."""

from functools import partial

from biasatlas.benchmarks.comparisons.figures import draw_framings, draw_pairs
from biasatlas.benchmarks.dbb.figures import draw_distribution, draw_match
from biasatlas.benchmarks.shared.plots import save, style
from biasatlas.benchmarks.shared.styles import styles
from biasatlas.files import read_csv
from biasatlas.workflow.job import job

with job(snakemake) as this, style():
    shown = styles(list(this.config.models))
    draw = {
        "pairs": partial(draw_pairs, styles=shown),
        "framings": partial(draw_framings, styles=shown),
        "dbb_bbq": partial(draw_match, styles=shown),
        "bbq_distribution": partial(draw_distribution, styles=shown),
    }[snakemake.wildcards.comparison]
    save(draw(read_csv(snakemake.input.table)), snakemake.output.figure)
