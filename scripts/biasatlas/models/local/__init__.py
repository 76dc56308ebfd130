"""Causal language models in process (kind ``hf``; planted ones too)."""

#: Part of what identifies an answer. Raise it when a request gets another answer than before from the same weights:
#: when the engine, or how requests are rendered, tokenised, read or drawn here, changes a number beyond rounding or a
#: text. A golden test says when.
VERSION = 4
