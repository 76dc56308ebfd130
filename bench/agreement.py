"""Do exact and sampled choices agree? Each outcome's exact probability beside its frequency in 20,000 sampled replies.

python bench/agreement.py [MODELS]      (20 tiny random models for each parser by default)
"""

import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests")]

from unit.engine.agreement import ASKED, compare  # noqa: E402


def main() -> None:
    models = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    print("| parser | largest difference | read whole | labels | refused | ambiguous | unresolved |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for parser in ASKED:
        found = [compare(parser, seed) for seed in range(models)]
        most = [max(each.gap for each in found), max(each.whole for each in found)]
        means = [np.mean([getattr(each, name) for each in found]) for name in ("labels", "refused", "ambiguous")]
        cells = [f"{value:.4f}" for value in (*most, *means, max(each.unresolved for each in found))]
        print(f"| {parser} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
