"""BBQ: do a model's answers about two people follow a stereotype, with and without the fact that settles it?

Parrish et al., Findings of ACL 2022. The page is ``docs/bbq.md``.
"""
