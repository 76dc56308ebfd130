"""Masked language models in process (kind ``masked``)."""

#: Part of what identifies an answer. Raise it when a request gets another log-likelihood than before from the same
#: weights, beyond rounding. A golden test says when.
VERSION = 1
