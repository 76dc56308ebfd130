"""Models of every kind behind one interface, :mod:`biasatlas.models.kinds`: requests in, responses out."""

#: A choice with more unresolved probability than this has failed and must be sampled, whatever the model's kind.
UNRESOLVED_BOUND = 0.01
