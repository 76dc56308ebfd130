"""Write the report page (rule write_report)."""

from biasatlas.benchmarks.comparison_spec import COMPARISONS, MATCH_CAPTION, MATCH_FIGURE_CAPTION
from biasatlas.benchmarks.shared.palette import looks
from biasatlas.files import read_metadata, write_text
from biasatlas.report.page import Comparison, Run, page
from biasatlas.workflow import selection
from biasatlas.workflow.job import job

with job(snakemake) as this:
    config = this.config
    # The inputs are in the order in which the configuration asks for them.
    tables, figures, compared = map(
        iter, (snakemake.input.tables, snakemake.input.figures, snakemake.input.comparisons)
    )
    runs = [
        Run(
            benchmark,
            protocol,
            data,
            left_out,
            tables={name: next(tables) for name in selection.tables(config, benchmark, protocol)},
            figures={name: next(figures) for name in selection.figures(config, benchmark, protocol)},
        )
        for benchmark, protocol, data, left_out in snakemake.params.runs
    ]
    comparisons = [
        Comparison("table", protocol, name, COMPARISONS[name], next(compared))
        for protocol, name in selection.comparisons(config)
    ]
    for protocol in selection.matches(config):
        comparisons.append(Comparison("table", protocol, "bbq_match", MATCH_CAPTION, next(compared)))
        comparisons.append(Comparison("figure", protocol, "bbq_match", MATCH_FIGURE_CAPTION, next(compared)))
    # Several models and protocols may share one file, which was paid for once.
    answers = zip(selection.paid_answers(config), snakemake.input.paid, strict=True)
    paid: dict[str, list] = {}
    for payer, task, path in dict.fromkeys((answer.payer, answer.task, path) for answer, path in answers):
        paid.setdefault(payer, []).append(read_metadata(path)[task])
    models = snakemake.params.models
    write_text(page(runs, models, comparisons, paid, looks(list(models))), snakemake.output.page)
