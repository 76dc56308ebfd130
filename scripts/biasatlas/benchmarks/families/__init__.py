"""Families: benchmarks of one form, which share the functions of their steps.

``pairs`` compare the likelihoods of two texts, ``questions`` have three options, ``decisions`` are about people and
have placebos, ``contexts`` ask about groups that do or do not differ. A family has the functions that a benchmark has;
they find what a YAML file says in ``step.description``. The file is in ``config/benchmarks``, at a path that the
configuration names or, as ``spec.yaml``, in a folder with the benchmark's own functions.
"""
