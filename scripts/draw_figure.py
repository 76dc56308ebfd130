"""Draw a figure from tables (rule draw_figure)."""

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.comparisons.cards import read_cards
from biasatlas.benchmarks.shared.plots import save, style
from biasatlas.benchmarks.shared.styles import styles
from biasatlas.files import read_csv
from biasatlas.workflow.job import job

with job(snakemake) as this, style():
    figure = snakemake.wildcards.figure
    names = this.step["drawn_as"]
    tables = {name: read_csv(path).replace({"model": names}) for name, path in this.given("tables").items()}
    shown = {names.get(model, model): style_of for model, style_of in styles(list(this.config.models)).items()}
    key = (this.benchmark, this.protocol)
    cards = [card for card in read_cards(this.given("cards")) if (card["benchmark"], card["protocol"]) == key]
    drawn = registry.figures(this.benchmark)[figure](tables, shown, cards)
    save(drawn, snakemake.output.figure)
