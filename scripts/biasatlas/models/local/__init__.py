"""Causal language models in process (kind ``hf``; planted ones too)."""

#: Part of what identifies an answer. Raise it when the same weights answer a request differently than before: when the
#: engine, or how requests are rendered, tokenised, parsed or sampled here, changes a number beyond rounding or a text.
#: A golden test says when.
VERSION = 4
