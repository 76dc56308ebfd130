"""What several benchmarks use.

``parsers``                  what a reply says
``prompting``                requests for prompted choices, and the options of such protocols
``preferences``              what choices and likelihoods prefer
``estimates``                from scores to tables: an estimate, with what is not in it, as a row; rates of answers
``metrics``                  metrics that mean the same everywhere
``plots``, ``styles``        figures
"""
