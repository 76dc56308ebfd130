"""Compare every two models on the same items; say what is found among all tests (rule compare_models)."""

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.comparisons.cards import read_cards
from biasatlas.benchmarks.comparisons.declared import METRICS
from biasatlas.benchmarks.comparisons.findings import contributions_table, findings_table
from biasatlas.benchmarks.comparisons.framings import FramedEvidence, framings_table
from biasatlas.benchmarks.comparisons.pairs import BenchmarkEvidence, are_asked_alike, pairs_table
from biasatlas.benchmarks.comparisons.reliability import reliability_table
from biasatlas.benchmarks.shared.stops import Stop
from biasatlas.files import read_task_scores, write_parquet, write_table
from biasatlas.workflow import provenance
from biasatlas.workflow.job import job

with job(snakemake) as this:
    runs = [
        BenchmarkEvidence.of(
            read_task_scores(run["scores"]),
            run["name"],
            run["benchmark"],
            registry.load_options(run["benchmark"], this.protocol),
            {model: Stop.read(path) for model, path in run["stops"].items()},
        )
        for run in this.given("runs")
    ]
    cards = read_cards(this.given("cards"))
    framed = [
        FramedEvidence.of(run, read_task_scores(given["framed"]))
        for run, given in zip(runs, this.given("runs"), strict=True)
        if given["framed"]
    ]
    robustness = {key: each for run in framed for key, each in run.robustness(this.protocol, cards).items()}
    write_table(findings_table(runs, this.protocol, cards, robustness), snakemake.output.findings, METRICS)
    write_parquet(contributions_table(runs), snakemake.output.contributions)
    if snakemake.output.get("framings"):
        write_table(framings_table(framed, this.protocol, cards), snakemake.output.framings, METRICS)
    write_table(pairs_table(runs, this.protocol, cards), snakemake.output.pairs, METRICS)
    write_table(
        reliability_table(list(filter(are_asked_alike, runs)), this.step["seeds"]),
        snakemake.output.reliability,
        METRICS,
    )
    files = [path for run in this.given("runs") for path in run["scores"] + run["framed"]]
    origin = provenance.software() | {
        "code": this.step["code"],
        "options": this.step["options"],
        "scores": {path: provenance.sha256(path) for path in files},
    }
    provenance.write(origin, snakemake.output.provenance)
