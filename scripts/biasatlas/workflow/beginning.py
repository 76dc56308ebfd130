"""What a run does before its first job."""

import os
import sys
from typing import Any

from biasatlas.errors import UserError
from biasatlas.workflow import failures


def begin(workflow: Any) -> None:
    """Spare Snakemake a search for work without an end, and keep a second run from the same object storage."""
    # Under its default limit of 100 jobs a second Snakemake looks for work without an end: each look plans another a
    # second later, and so does each job that ends: a run of a thousand jobs keeps a core busy with looking.
    limit = workflow.scheduler.job_rate_limiter
    if limit and (limit.max_jobs, limit.timespan) == (100, 1):
        workflow.scheduler.job_rate_limiter = None
    # Snakemake locks the folder that it runs in, and no other knows of that. A run of what is left is within another.
    where = workflow.storage_settings.default_storage_prefix
    if where and workflow.is_main_process and not os.environ.get(failures.LEVEL):
        from biasatlas.models.objects import hold

        try:
            hold(where)
        except UserError as error:
            sys.exit(f"error: {error}")
