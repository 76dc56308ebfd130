"""Causal language models in process (kind `hf`)."""
