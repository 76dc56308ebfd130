"""TWBias's tables: from sentence perplexities to bias ratios and effect sizes, with intervals.

Every interval but that of the double difference in nats is a percentile interval of a bootstrap over sentences, drawn
once for all prompts, since the prompts ask about the same sentences. It says how far a value would move with another
sample of such sentences; the outlier rule is applied before resampling. A p-value is near 0 or 1 in many resamples, so
the interval of a bias ratio is wide, and honestly so: the ratio counts crossings of a threshold.
"""

from biasatlas.benchmarks.twbias.tables import bias, composition, double_difference, sensitivity

__all__ = ["bias", "composition", "double_difference", "sensitivity"]
