"""Bias Atlas: the library behind the workflow's scripts."""
