"""Answers to a described benchmark's questions about two groups, as choice responses."""

from biasatlas.benchmarks.families.replies import read_replies

#: Formats of a user's own predictions.
FORMATS = {"answers": read_replies}
