"""Every architecture of tests/unit/engine/architectures.py, tiny and random, through the engine and through one forward
pass of one whole sequence at a time: the table of docs/engine.md.

    python bench/parity.py                    # all of them, as a table in Markdown
    python bench/parity.py qwen2 mamba2       # some
"""

import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests/unit")]

import torch  # noqa: E402
import transformers  # noqa: E402
from engine import architectures, parity  # noqa: E402

#: Largest difference of a log-likelihood in nats, and of a label's probability.
LIMIT = 1e-4


def main(names: list[str]) -> None:
    """Print the table; exit status 1 where an architecture is beyond LIMIT or writes another text."""
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    warnings.simplefilter("ignore")
    wrong = []
    print("| architecture | route | likelihood, nats | choice | greedy texts |\n| --- | --- | --- | --- | --- |")
    for name in names or architectures.NAMES:
        found = parity.compare(architectures.build(name))
        architectures.build.cache_clear()
        print(
            f"| {name} | {found.route.name} | {found.likelihood:.0e} | {found.choice:.0e} | {found.texts} of {found.of} |",
            flush=True,
        )
        if found.route.reason:
            print(f"{name}: {found.route.reason}", file=sys.stderr)
        if max(found.likelihood, found.choice) > LIMIT or found.texts < found.of:
            wrong.append(name)
    if wrong:
        sys.exit(f"beyond {LIMIT:g}, or another text: {', '.join(wrong)}")


if __name__ == "__main__":
    main(sys.argv[1:])
