"""Answers to a described benchmark's questions about two groups, as choice responses."""

from functools import partial

from biasatlas.benchmarks.families.contexts.parsers import PARSERS as OWN
from biasatlas.benchmarks.families.replies import read_replies
from biasatlas.benchmarks.shared.parsing.named import PARSERS

#: Formats of a user's own predictions.
FORMATS = {"answers": partial(read_replies, parsers=PARSERS | OWN)}
