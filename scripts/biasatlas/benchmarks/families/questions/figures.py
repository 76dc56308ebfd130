"""The figure of a benchmark of questions."""

from matplotlib.figure import Figure

from biasatlas.benchmarks.contract import Step, figure
from biasatlas.benchmarks.shared.plots import dot_intervals


@figure("bias")
def bias_figure(step: Step) -> Figure:
    """Bias score and interval by category, a panel per context; a cross is the published value."""
    table, categories = step.tables["bias"], list(step.description.category_names.values())
    if step.description.label_types:
        table = table[table["label_type"] == "all"]
    names = {category: category.replace("_", " ").replace(" x ", " × ") for category in categories}
    return dot_intervals(
        table[table["metric"] == "bias_score"],
        "category",
        step.styles,
        label="bias score (%; right: with the stereotype), 95% interval",
        reference=0,
        order=(*categories, "overall"),
        names=names | {"ambig": "Ambiguous context", "disambig": "Disambiguated context"},
        panels="condition",
        limits=(-100, 100),
        empty="no answer names a person, and a bias score is a share of those that do",
    )
