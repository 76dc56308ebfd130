"""The parsers by name."""
from biasatlas.benchmarks.shared.parsing.choice import parse_choice
from biasatlas.benchmarks.shared.parsing.refusal import parse_refusal
PARSERS={"letter":parse_choice,"label":parse_choice,"refusal":parse_refusal}
