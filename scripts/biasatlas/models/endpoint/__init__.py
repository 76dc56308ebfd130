"""OpenAI-compatible endpoints (kind `api`)."""
