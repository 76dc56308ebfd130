"""What several benchmarks use: prompting, choices, estimates, plots, reply readers."""
