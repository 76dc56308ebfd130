"""StereoSet: does a model prefer the stereotypical sentence, and a meaningful one to an unrelated one?

Nadeem et al., ACL 2021. The page is ``docs/stereoset.md``.
"""
