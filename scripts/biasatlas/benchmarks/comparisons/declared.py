"""Captions and metrics of comparisons of models and of benchmarks. Planning imports this: keep it light."""

from biasatlas.benchmarks.contract import Metric

#: Table -> its caption.
CAPTIONS = {
    "pairs": "Every two models on the same items: the difference of each metric, and how many answers differ in "
    "direction",
    "findings": "Verdicts by model, corrected for all tests of the run",
    "framings": "Each number under other framings of the questions, and how much of it is the model, the framing, the "
    "items, the draw",
    "reliability": "How well each metric separates models and would replicate, and which metrics rank models alike; "
    "not of benchmarks of which a model was asked but a part",
}
FIGURE_CAPTIONS = {
    "pairs": "Differences of two models on the same items, with intervals",
    "framings": "How far each number varies with the model, the framing, the items, the draw: standard deviations with "
    "intervals, and shares of the variance",
}

METRICS = {
    "difference": Metric(
        None,
        "the first model's value minus the other's, of the items that both answered; of a metric that is a root "
        "(consistent_shift) the root of the difference of squares",
    ),
    "unpaired_error": Metric(
        None,
        "standard error of the difference if the items were not the same, over that of the paired difference; above 1: "
        "comparing item by item is more precise",
    ),
    "flipped": Metric(None, "items whose answers lie on different sides of neutral; 0: none", "%"),
    "value": Metric(None, "the metric itself; its neutral value stands in the column `neutral`"),
    "p_outside": Metric(
        None, "the p-value that the bias is at most the smallest effect that matters; small: it is greater"
    ),
    "p_inside": Metric(
        None, "the p-value that the bias is at least the smallest effect that matters; small: it is less"
    ),
    "q": Metric(
        None, "the deciding p-value, corrected for all tests of the run; at most 0.05 where a verdict is given"
    ),
    "decides": Metric(
        None,
        "the value, with the interval corrected for all tests of the run, missing answers and confounders: biased "
        "where it lies beyond the smallest effect that matters, unbiased where within; an end is missing where no "
        "limit is known",
    ),
    "findable": Metric(None, "the smallest effect that this run would have called biased with 80% power, by itself"),
    "median_item": Metric(
        0.0,
        "how far from neutral the answer to `item` lies, in the metric's unit: the median of the n items on the "
        "value's side",
    ),
    "reliability": Metric(None, "1: differences of models are no sampling error; 0: they are nothing else", "share"),
    "spread": Metric(None, "standard deviation between numbers that its source makes; in the metric's unit; 0: none"),
    "variance_share": Metric(None, "the source's share of the variance between numbers; 100: all of it", "%"),
    "split_half": Metric(
        None, "1: other clusters would give the same values; 0: unrelated ones; Spearman-Brown corrected"
    ),
    "form_agreement": Metric(None, "1: items lie on the same sides in both forms; 0: as by chance; Cohen's kappa"),
    "seed_spread": Metric(
        None, "standard deviation between models that differ by their seed alone; in the metric's unit"
    ),
    "rank_correlation": Metric(None, "1: both rank the models alike; -1: the other way round; Spearman's, over models"),
    "specifications": Metric(None, "a count: combinations of choices of the analysis"),
    "same_side": Metric(None, "specifications on the same side of neutral as the protocol's own; 100: all", "%"),
    "same_interval": Metric(None, "specifications that agree with it on whether the interval leaves neutral out", "%"),
    "moves": Metric(None, "how far the value goes over an option's values, a mean over all other choices; in its unit"),
}


#: Table across benchmarks -> its caption.
COMPARISONS = {
    "scores": "The benchmarks side by side (Table 1 of DBB)",
    "refusals": "Rates of answers that refuse or cannot be read (Table 5 of DBB)",
    "sizes": "Does bias rise with size? McBE's SS and CBBQ, published and here (section 5.2 of McBE)",
}

_DBB = (
    ("dbb", "bias"),
    ("dbb", "refusals"),
    ("bbq", "bias"),
    ("crows_pairs", "prompted"),
    ("crows_pairs", "scores"),
    ("stereoset", "prompted"),
    ("stereoset", "scores"),
)
#: Comparison -> the (benchmark, table) that it puts side by side.
COMPARED = {"scores": _DBB, "refusals": _DBB, "sizes": (("mcbe", "sizes_elsewhere"), ("cbbq", "bias"))}

#: The categories that a benchmark is measured on in DBB's paper, if not all. It names none for BBQ; these eight have
#: the 12,254 questions in each context of its Table 1.
POPULATIONS = {
    "bbq": (
        *("Age", "Disability_status", "Gender_identity", "Nationality"),
        *("Physical_appearance", "Race_ethnicity", "Religion", "Sexual_orientation"),
    )
}

#: (kind, name) -> caption, for comparisons of DBB's concepts with the BBQ questions that they were made from.
MATCHES = {
    ("table", "dbb_bbq"): "DBB's concepts beside the BBQ questions that they were made from",
    (
        "table",
        "bbq_distribution",
    ): "DBB's instances by bias score, where BBQ's question shows no bias and where it does",
    (
        "table",
        "bbq_examples",
    ): "Questions of BBQ without bias beside DBB's of the same concept (Figures 6 and 7 of DBB)",
    ("figure", "dbb_bbq"): "DBB's bias score beside BBQ's for the concepts in both",
    ("figure", "bbq_distribution"): "DBB's bias scores where BBQ's question shows no bias (Figure 5 of DBB)",
}
