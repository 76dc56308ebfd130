"""The simulation: every metric measured on simulated models, whose ground truth follows from their formula (``make
simulation``).

``harness``      a benchmark's whole pipeline in process: entries in, tables out
``studies``      which models are measured: doses of bias, and nuisances
``measure``      measures a study in the way that it names; tests and validates a described benchmark
``experiment``   one setting of a study over many seeds, by a run's own scores and tables
``nuisances``    what a model without bias may do that a metric could mistake for one; ``asked``: what they see
``claims``       experiments on all that a benchmark's headlines declare; ``ngrams``: with word models of its texts
``direct``       experiments on questions and pairs, without writing answers out
``own_group``    TWBias's regressions for many models at once
``rounds``       experiments with models that are asked in rounds
``ground_truth`` a metric's value by the formula alone, computed apart from the code that estimates it
``planning``     what a run could find, before anything is asked
``validity``     what estimates over many seeds say of a metric: bias, coverage, false alarms, power; its card
"""
