"""A folder per benchmark, with a function for each step (:mod:`biasatlas.benchmarks.contract`), and what they share."""
