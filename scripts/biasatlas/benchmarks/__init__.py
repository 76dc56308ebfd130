"""One folder a benchmark, each with a module per step (:mod:`biasatlas.benchmarks.contract`); what several share.

A step imports only what it computes with, so that an edit to a table's code runs tables again and asks no model.
"""
