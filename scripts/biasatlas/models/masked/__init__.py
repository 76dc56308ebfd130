"""Masked language models in process (kind `masked`)."""
