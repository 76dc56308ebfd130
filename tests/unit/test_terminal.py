"""What a run says on the terminal, from Snakemake's events."""

import logging
from types import SimpleNamespace

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

from biasatlas.progress import TOLD
from biasatlas.workflow import failures
from biasatlas.workflow.failures import KILLED
from snakemake_logger_plugin_atlas import LogHandler


@pytest.fixture
def said(capsys, monkeypatch):
    """Hand events over; the lines that they make."""
    monkeypatch.setenv(TOLD, "")  # the logger sets it for the jobs of its process
    handler = LogHandler(None, None)

    def say(*events, **fields):
        for event in events:
            record = logging.LogRecord("snakemake", logging.INFO, "", 0, fields.pop("text", ""), (), None)
            record.__dict__.update(fields, event=event)
            handler.emit(record)
        return capsys.readouterr().err.splitlines()

    return say


def begin(said, job, rule, **wildcards):
    return said(LogEvent.JOB_INFO, jobid=job, rule_name=rule, wildcards=wildcards)


def test_a_kind_of_step_is_one_line_and_each_model_has_its_own(said):
    assert said(
        LogEvent.RUN_INFO, stats={"score_bbq": 1, "score_dbb": 1, "check": 1, "answer_requests": 1, "total": 4}
    ) == ["4 steps"]
    assert begin(said, 1, "answer_requests", model="m", benchmark="bbq") == []
    assert said(LogEvent.JOB_FINISHED, job_id=1) == ["m bbq: answered in 0:00"]
    for job, rule in ((2, "score_bbq"), (3, "score_dbb"), (4, "check")):
        begin(said, job, rule)
    assert said(LogEvent.JOB_FINISHED, job_id=2) == []
    assert said(LogEvent.JOB_FINISHED, job_id=3) == ["score: all 2 done"]
    assert said(LogEvent.JOB_FINISHED, job_id=4) == []


@pytest.mark.parametrize(
    ("log", "told"),
    [
        ("07:30:27 asked\n07:30:28 error: models.gpt-mini: no key\n", "models.gpt-mini: no key"),
        ("07:30:27 asked\n", f"answer_requests gpt-mini bbq: {KILLED}"),
        ("07:30:27 asked\n07:30:28 done\n", "answer_requests gpt-mini bbq: failed"),
        (None, "answer_requests gpt-mini bbq: failed"),
    ],
)
def test_a_failure_is_told_once_by_the_name_of_its_entry(said, tmp_path, log, told):
    path = tmp_path / "a.log"
    if log:
        path.write_text(log)
    begin(said, 7, "answer_requests", model="gpt-mini", benchmark="bbq")
    failed = {"jobid": 7, "rule_name": "answer_requests", "log": [str(path)]}
    assert said(LogEvent.JOB_ERROR, LogEvent.JOB_ERROR, **failed) == [f"error: {told} (log: {path})"]
    assert said(None, text="Exiting because a job execution failed. Look above for error messages") == []


def test_a_job_that_a_full_disk_left_no_word_of_is_not_called_killed(said, tmp_path, monkeypatch):
    path = tmp_path / "a.log"
    path.write_text("")
    monkeypatch.setattr(failures.shutil, "disk_usage", lambda folder: SimpleNamespace(free=24_000))
    begin(said, 7, "build_requests", benchmark="bbq")
    failed = {"jobid": 7, "rule_name": "build_requests", "log": [str(path)]}
    told = f"error: build_requests bbq: {tmp_path}: {failures.FULL} (log: {path})"
    assert said(LogEvent.JOB_ERROR, **failed) == [told]


@pytest.mark.parametrize(
    ("pod", "told"),
    [
        ("Building DAG of jobs...\nerror: models.gpt-mini: no key\nTraceback\n", "models.gpt-mini: no key"),
        (
            "Building DAG of jobs...\nModuleNotFoundError: No module named 's3'\n\n",
            "ModuleNotFoundError: No module named 's3'",
        ),
    ],
)
def test_a_failure_in_a_pod_is_told_from_what_it_wrote_and_names_both_logs(said, tmp_path, pod, told):
    path = tmp_path / "pod.log"
    path.write_text(pod)
    begin(said, 7, "answer_requests", model="gpt-mini", benchmark="bbq")
    failed = {"jobid": 7, "rule_name": "answer_requests", "log": ["s3://b/a.log (send to storage)", str(path)]}
    assert said(LogEvent.JOB_ERROR, **failed) == [f"error: {told} (log: s3://b/a.log, {path})"]


def test_a_failure_on_the_head_of_a_run_in_a_bucket_is_told(said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / ".snakemake/storage/s3/b/a.log"
    path.parent.mkdir(parents=True)
    path.write_text("07:30:28 error: models.gpt-mini: no key\n")
    failed = {"jobid": 7, "rule_name": "check_model", "log": ["s3://b/a.log (send to storage)"]}
    assert said(LogEvent.JOB_ERROR, **failed) == ["error: models.gpt-mini: no key (log: s3://b/a.log)"]


def test_what_no_job_is_to_blame_for_is_told(said):
    missing = "MissingRuleException: no rule makes nothing"
    assert said(LogEvent.ERROR, text=missing, exception="MissingRuleException") == [missing]
    assert said(LogEvent.ERROR, text="RuleException: job 7", exception="RuleException") == []
    said(LogEvent.JOB_ERROR, jobid=7, rule_name="check", log=[])
    assert said(LogEvent.ERROR, text="WorkflowError: one job failed", exception="WorkflowError") == []


def test_a_fault_in_the_lines_ends_no_run(said, monkeypatch):
    monkeypatch.setattr(logging, "raiseExceptions", False)
    assert said(LogEvent.RUN_INFO) == []
