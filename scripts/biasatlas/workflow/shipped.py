"""Files that ship with the workflow, by one name wherever the workflow lies."""

import shutil
import tempfile
from pathlib import Path

from biasatlas import ROOT

#: A link to ``resources/`` below the working directory: the names of a job's shipped inputs are the same after a run was
#: moved, or another commit of the workflow was checked out, and nothing runs again but for what is in the files.
SHIPPED = Path(".snakemake") / "bias-atlas"


def link_shipped_files() -> None:
    """Make :data:`SHIPPED` a link to the ``resources/`` of this workflow, in one step, whoever else does the same."""
    resources = (ROOT / "resources").resolve()
    if SHIPPED.resolve() == resources:
        return
    SHIPPED.parent.mkdir(exist_ok=True)
    if SHIPPED.is_dir() and not SHIPPED.is_symlink():  # whoever copied the run followed the link
        shutil.rmtree(SHIPPED)
    link = Path(tempfile.mkdtemp(dir=SHIPPED.parent)) / "link"
    link.symlink_to(resources, target_is_directory=True)
    link.replace(SHIPPED)
    link.parent.rmdir()
