"""Models whose answers follow a stated formula, so that the ground truth of every metric is known (kind
``simulated``)."""

#: Raise it when the same entry gives other answers to the same requests.
VERSION = 2
