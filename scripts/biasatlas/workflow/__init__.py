"""The workflow's own side: configuration, what runs, what makes a result stale, raw data, provenance."""
