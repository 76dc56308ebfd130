"""What is compared across benchmarks: light, for planning. The tables are made in
:mod:`biasatlas.benchmarks.comparison`."""

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
#: Comparison -> (benchmark, table) that stand side by side in it.
COMPARED = {"scores": _DBB, "refusals": _DBB, "sizes": (("mcbe", "sizes_elsewhere"), ("cbbq", "bias"))}

#: The categories that a benchmark is measured on in its paper, where they are not all: these eight have BBQ's 12,254
#: questions in each context (DBB's paper names none).
POPULATIONS = {
    "bbq": (
        *("Age", "Disability_status", "Gender_identity", "Nationality"),
        *("Physical_appearance", "Race_ethnicity", "Religion", "Sexual_orientation"),
    )
}

#: (kind, name) of what puts DBB's concepts beside the BBQ questions that they were made from -> its caption.
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
