"""Compare two runs: print which inputs differ and which numbers moved.

    python scripts/compare_runs.py results/before results/after

Exits with 1 where a number moved, as diff does, and 2 on an error.
"""

import argparse
import sys
from pathlib import Path

from biasatlas.errors import UserError
from biasatlas.workflow.compare import compare


def main() -> int:
    parser = argparse.ArgumentParser(description="Print which inputs of two runs differ and which numbers moved.")
    parser.add_argument("left", type=Path, help="results folder of one run")
    parser.add_argument("right", type=Path, help="results folder of the other")
    arguments = parser.parse_args()
    try:
        inputs, numbers = compare(arguments.left, arguments.right)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for title, frame in (("inputs differ", inputs), ("numbers moved", numbers)):
        print(f"{len(frame)} {title}")
        if len(frame):
            print(frame.to_string(index=False, na_rep="-", max_colwidth=60, float_format="{:.7g}".format), end="\n\n")
    return int(len(numbers) > 0)


if __name__ == "__main__":
    sys.exit(main())
