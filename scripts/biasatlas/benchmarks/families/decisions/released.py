"""Decisions of a user's own, or of published outputs, as choice responses."""

from biasatlas.benchmarks.families.replies import read_replies

#: Formats of a user's own predictions.
FORMATS = {"decisions": read_replies}
