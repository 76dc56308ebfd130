"""What the workflow adds to Snakemake: configuration, what runs, what makes a result stale, raw data, provenance."""
