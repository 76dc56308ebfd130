"""The parsers by name."""
from functools import partial
from biasatlas.benchmarks.shared.parsing.choice import parse_choice
from biasatlas.benchmarks.shared.parsing.numbers import parse_number
from biasatlas.benchmarks.shared.parsing.ranking import parse_ranking
from biasatlas.benchmarks.shared.parsing.refusal import parse_refusal
from biasatlas.benchmarks.shared.parsing.strict import parse_strict_choice
PARSERS={"letter":parse_choice,"label":parse_choice,"refusal":parse_refusal,"integer":parse_number,"decimal":partial(parse_number,nearest=True),"grade":partial(parse_number,nearest=True),"ranking":parse_ranking,"strict_choice":parse_strict_choice}
