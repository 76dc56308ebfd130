"""Benchmarks of one kind share their steps here.

``pairs`` are of texts whose likelihoods are compared, ``questions`` have three options, ``decisions`` are about people,
with placebos, and ``contexts`` ask when groups differ. A family has the functions that a benchmark has, and finds what
a YAML file says in ``step.description``. The file lies in ``config/benchmarks``, at a path that the configuration
names or, as ``spec.yaml``, in a folder with functions of the benchmark's own.
"""
