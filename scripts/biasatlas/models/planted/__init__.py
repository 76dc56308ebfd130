"""Tiny models trained here with a known bias (kind `planted`)."""
