"""The statistics of bias: tests, effect sizes, intervals and corrections. Knows numbers, nothing of benchmarks.

Where scipy or statsmodels has a function for it, callers use that; here is what they lack, above all the forms that
work on many columns and resamples at once.
"""
