"""Statistics of bias: pure functions over arrays. Imports neither torch nor an HTTP client."""
