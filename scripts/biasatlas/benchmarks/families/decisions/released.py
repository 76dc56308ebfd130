"""Decisions of a user's own, or of published outputs, as choice responses."""

from functools import partial

from biasatlas.benchmarks.families.decisions.parsers import PARSERS as OWN
from biasatlas.benchmarks.families.replies import read_replies
from biasatlas.benchmarks.shared.parsing.named import PARSERS

#: Formats of a user's own predictions.
FORMATS = {"decisions": partial(read_replies, parsers=PARSERS | OWN)}
