"""MT-Bench has a judge grade what a chat model writes in two turns; in Traditional Chinese as TWBias uses it."""
