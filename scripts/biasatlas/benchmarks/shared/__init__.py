"""What several benchmarks use.

``parsing``                  what a reply says
``prompting``                requests for prompted choices, and the options of such protocols
``preferences``              what choices and likelihoods prefer
``estimates``                rows of tables: estimates with counts of what is missing; rates of answers
``metrics``                  metrics that mean the same everywhere
``plots``, ``styles``        figures
"""
