"""Readers of replies: what a reply says. Pure functions, with their grammar in their docstrings.

A reader takes a reply and the labels. It returns the index of a label, or

- :data:`AMBIGUOUS`: more than one answer ("A or B", "7-8", "A. No, B."); a reader never picks one of them, but where a reply takes one back and
  gives another in so many words ("A. No, the answer is B.") that is its answer;
- :data:`REFUSED`: the reply declines, and gives no answer;
- :data:`UNPARSEABLE`: neither, also where a model is still thinking when its reply ends.

Whole replies are read to their end. Exact probabilities cannot follow every text to its end: a reader of
choices is also the rule for when to stop. Of a text so far it says None while more text may change the reading,
and once a text has a reading, every longer text has the same one: a choice ends where its answer does, and begins with it
(:mod:`biasatlas.benchmarks.shared.readers.opening`). What comes later is in a whole reply alone.

All readers take English and Chinese in either script. They look at what a reply says after its thinking (think tags, also
without their beginning; Harmony's channels) and before another turn, without Markdown, HTML and LaTeX, in half-width forms
(:mod:`biasatlas.benchmarks.shared.readers.reply`).

The readers are in :mod:`biasatlas.benchmarks.shared.readers.named`, by name: their many patterns are compiled where replies are read,
and not by who asks only for what is said here.
"""

from collections.abc import Callable, Sequence

from biasatlas.benchmarks.shared.readers.outcomes import AMBIGUOUS, REFUSED, UNPARSEABLE, Reading

__all__ = ["AMBIGUOUS", "REFUSED", "UNPARSEABLE", "VERSION", "Reader", "Reading", "ReplyReader"]

#: Reads a whole reply: its text and the labels.
ReplyReader = Callable[[str, Sequence[str]], Reading]
#: Reads a choice: the text so far, the labels, and whether the text is whole.
Reader = Callable[[str, Sequence[str], bool], Reading | None]

#: Raise it when a reader reads any reply otherwise: it is part of what identifies an answer. A golden test says when.
VERSION = 22
