"""The likelihood engine: tokens and tensors in, log-probabilities out. It knows nothing of benchmarks."""
