"""Metrics that mean the same in every benchmark."""

from biasatlas.benchmarks.contract import Metric

#: Rates over the applicable requests: those that could be asked, whatever became of them.
RATES = {
    "refusal_rate": Metric(None, "0: no answer refuses; 100: every one does", "%"),
    "unparseable_rate": Metric(None, "0: every answer can be read; 100: none can", "%"),
    "unanswered_rate": Metric(None, "answers that refuse or cannot be read; 0: none", "%"),
    "unresolved_rate": Metric(None, "probability that was not followed to the end of an answer; 0: none", "%"),
}

#: Results of tests of significance.
P_VALUE = Metric(None, "small: a difference this large is unlikely by chance alone")
