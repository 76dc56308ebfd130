# Bias Atlas: raw data -> items -> requests -> responses -> scores -> tables, figures and a report.
import gc
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from snakemake.utils import min_version

min_version("9.27")
# Planning makes little garbage, and looking for it again and again takes a fifth of a plan's time.
gc.set_threshold(1_000_000)


# The folder of this workflow. If `module:` takes it from a repository, its commit is unpacked once into a cache.
ROOT = Path(str(workflow.current_basedir))
if hasattr(workflow.current_basedir, "ref"):
    here = workflow.current_basedir
    git = ["git", "-C", here.hosted_repo.repo.git_dir if hasattr(here, "hosted_repo") else here.repo_path]
    parsed = subprocess.run([*git, "rev-parse", f"{here.ref}^{{commit}}"], check=True, capture_output=True, text=True)
    commit = parsed.stdout.strip()
    ROOT = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bias-atlas" / commit
    if not ROOT.exists():
        ROOT.parent.mkdir(parents=True, exist_ok=True)
        unpacked = Path(tempfile.mkdtemp(dir=ROOT.parent))
        archive = subprocess.run([*git, "archive", commit], check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", unpacked], input=archive, check=True)
        try:
            unpacked.rename(ROOT)
        except OSError:  # another process was faster
            shutil.rmtree(unpacked)

# A configuration is complete in itself: the demo's is read only if no other is given.
if not workflow.overwrite_configfiles:

    configfile: f"{ROOT}/config/config.yaml"


include: f"{ROOT}/rules/common.smk"


rule all:
    """Everything the configuration asks for: tables, figures and the report."""
    default_target: True
    input:
        targets.everything(),


include: f"{ROOT}/rules/data.smk"
include: f"{ROOT}/rules/requests.smk"
include: f"{ROOT}/rules/models.smk"
include: f"{ROOT}/rules/responses.smk"
include: f"{ROOT}/rules/scores.smk"
include: f"{ROOT}/rules/tables.smk"
include: f"{ROOT}/rules/comparisons.smk"
include: f"{ROOT}/rules/simulation.smk"
include: f"{ROOT}/rules/construction.smk"
