"""Models of kind ``simulated``: a formula answers, so that every metric's ground truth is known."""

#: Raise it when the same entry gives other answers to the same requests.
VERSION = 2
