"""One folder a benchmark, with a function per step (:mod:`biasatlas.benchmarks.contract`); what several share."""
