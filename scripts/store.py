"""Look through a response store, and repair it: damaged lines are taken out, and asked for again by the next run.

    python scripts/store.py results/store/MODEL
    python scripts/store.py --repair results/store/MODEL

Exits with 1 where damage was found and not repaired, and 2 on an error.
"""

import argparse
import sys
from pathlib import Path

from biasatlas.errors import UserError
from biasatlas.models.endpoint.spending import alone
from biasatlas.models.store import inspect, repair


def main() -> int:
    parser = argparse.ArgumentParser(description="Look through a response store, and repair it.")
    parser.add_argument("folder", type=Path, help="folder with the store of a model (results/store/MODEL)")
    parser.add_argument("--repair", action="store_true", help="take damaged lines out of their files")
    arguments = parser.parse_args()
    stores = sorted({path.parent for path in arguments.folder.rglob("*.jsonl") if path.parent.name != "damaged"})
    if not stores:
        print(f"error: {arguments.folder}: no store there: no file ends in .jsonl", file=sys.stderr)
        return 2
    damage = 0
    for folder in stores:
        try:
            with alone(folder):
                damaged = repair(folder) if arguments.repair else inspect(folder)
        except UserError as error:
            print(f"error: {error}", file=sys.stderr)
            return 2
        damage += len(damaged)
        for path, line, content in damaged:
            print(f"{path}, line {line}: damaged ({len(content)} bytes)")
        done = f"; taken out, and kept in {folder / 'damaged'}" if arguments.repair and damaged else ""
        print(f"{folder}: {len(damaged)} damaged lines{done}")
    return int(damage > 0 and not arguments.repair)


if __name__ == "__main__":
    sys.exit(main())
