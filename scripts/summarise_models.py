"""Say of each model what was found (rule summarise_models)."""

import json

from biasatlas.benchmarks.comparisons.summary import latex, markdown, summary
from biasatlas.files import read_csv, write_text
from biasatlas.workflow.job import job

with job(snakemake) as this:
    findings = {name: read_csv(path) for name, path in this.given("findings").items()}
    texts = []
    for model in this.step["models"]:
        said = summary(findings, model, this.step["titles"])
        texts += [markdown(said), latex(said), json.dumps(said, ensure_ascii=False) + "\n"]
    for text, path in zip(texts, snakemake.output.summaries, strict=True):
        write_text(text, path)
