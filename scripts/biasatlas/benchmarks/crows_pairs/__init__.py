"""CrowS-Pairs: of two sentences that differ in a group, does a model find the stereotypical one more likely?

Nangia et al., EMNLP 2020. The page is ``docs/crows_pairs.md``.
"""
