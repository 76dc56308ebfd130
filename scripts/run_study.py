"""Put the experiments of all studies into two tables: settings, and each headline's validity card (rule simulation).

Cards of studies and data that were not measured stay as they ship, so that the whole file can be shipped; cards of
headlines that their study no longer has are dropped.
"""

import pandas as pd

from biasatlas.errors import UserError
from biasatlas.files import read_csv, write_csv, write_text
from biasatlas.simulation.studies import load_studies
from biasatlas.simulation.validity import as_markdown, cards, settings_table, with_confounders
from biasatlas.workflow.job import job

with job(snakemake) as this:
    if not this.step["experiments"]:
        raise UserError("simulation: required section is missing: add `simulation: {seeds: 200}` to the configuration.")
    runs: dict[tuple[str, str], dict[str, pd.DataFrame]] = {}
    for each in this.given("experiments"):
        runs.setdefault((each["data"], each["study"]), {})[each["setting"]] = read_csv(each["runs"])
    settings = pd.concat(
        [settings_table(name, load_studies()[name], each, data) for (data, name), each in runs.items()]
    )
    write_csv(settings, snakemake.output.settings)
    shipped = read_csv(snakemake.input.cards[0])
    fitting = {name: study.fitting() for name, study in load_studies().items()}
    kept = [
        (card.data, card.study) not in runs and load_studies()[card.study].has(card.metric, card.of)
        for card in shipped.itertuples()
    ]
    found = with_confounders(pd.concat([shipped[kept], cards(settings, fitting)], ignore_index=True))
    write_csv(found, snakemake.output.cards)
    write_text(as_markdown(found), snakemake.output.text)
