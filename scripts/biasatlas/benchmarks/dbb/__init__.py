"""DBB: social bias that descriptions evoke, as the shift of a model's choice when only the description changes.

Pan, Raj, Yao and Zhu. What's Not Said Still Hurts. Findings of EMNLP 2025.
"""
