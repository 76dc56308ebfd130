"""DBB: social bias that descriptions evoke, as the shift of a model's choice when only the description changes.

Pan, Li, Wei and Zhu. A Benchmark for Description-Based Evaluation of Social Bias in LLMs.
"""
