"""Bias Atlas: the library behind the workflow's scripts."""

from pathlib import Path

#: The checkout that this library belongs to.
ROOT = Path(__file__).resolve().parents[2]
