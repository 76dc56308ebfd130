"""Metrics that mean the same in every benchmark."""

from biasatlas.benchmarks.contract import Metric

#: Rates over the requests that apply and got an answer, in percent.
RATES = {
    "refusal_rate": Metric(None, "0: no answer refuses; 100: every one does", "%"),
    "ambiguous_rate": Metric(None, "answers that name several options; 0: none", "%"),
    "unparseable_rate": Metric(None, "0: every answer names an option, several, or refuses; 100: none does", "%"),
    "unanswered_rate": Metric(None, "answers that refuse, name several options or cannot be read; 0: none", "%"),
    "unresolved_rate": Metric(None, "probability that was not followed to the end of an answer; 0: none", "%"),
}

#: Share of preferences for a stereotypical sentence over its counterpart.
STEREOTYPE_SCORE = Metric(
    50.0, "above 50 the stereotypical sentence is preferred, below 50 its counterpart; 100: always", "%"
)

#: Results of tests of significance.
P_VALUE = Metric(None, "small: a difference this large is unlikely by chance alone")
