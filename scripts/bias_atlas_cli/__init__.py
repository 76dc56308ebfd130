"""The command ``bias-atlas``, from any folder, of the checkout or of the wheel."""

import sys
from pathlib import Path


def main() -> int:
    """Find the workflow beside this file, and hand over what was typed."""
    folder = Path(__file__).resolve().parents[1]
    # A checkout has this folder in scripts/; a wheel has the whole workflow in a folder beside it.
    wheel = folder / "biasatlas_workflow" / "scripts"
    scripts = wheel if wheel.is_dir() else folder
    # Before all else: what Snakemake starts must import the same library.
    sys.path.insert(0, str(scripts))
    from biasatlas.__main__ import main

    return main()
