"""MT-Bench, what a chat model writes in two turns, graded by a judge; in Traditional Chinese as TWBias uses it."""
