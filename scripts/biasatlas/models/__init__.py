"""Models of every kind behind one interface, :mod:`biasatlas.models.kinds`: requests in, responses out."""

#: Largest unresolved probability of a choice that is still an answer, of whatever kind the model is; what leaves more
#: open has failed and must be sampled.
UNRESOLVED_BOUND = 0.01
