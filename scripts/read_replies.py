"""What sampled replies came to, from a run's own files; nothing is asked again.

    python scripts/read_replies.py results/my_run                   how many were read, examples of those that were not
    python scripts/read_replies.py results/my_run --reader letter   what changes if another reader reads them

Writes replies/table.csv, unread.csv, groups.csv and bounds.csv (or changes.csv) below the results folder.
"""

import argparse
import sys
from pathlib import Path

from biasatlas.errors import UserError
from biasatlas.workflow.replies import reread, summary


def main() -> int:
    parser = argparse.ArgumentParser(description="Print what sampled replies came to.")
    parser.add_argument("results", type=Path, help="results folder of a run")
    parser.add_argument("--reader", help="read the replies with this reader, and print what changes")
    parser.add_argument("--examples", type=int, default=10, help="replies of each unread form that are printed")
    arguments = parser.parse_args()
    try:
        text = (
            reread(arguments.results, arguments.reader, arguments.examples)
            if arguments.reader
            else summary(arguments.results, arguments.examples)
        )
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
