"""MT-Bench: a judge grades what a chat model writes in two turns; in Traditional Chinese as TWBias uses it."""
