"""A job out of time asks SLURM to start it again; one that a person stopped does not."""

import pytest

from biasatlas.workflow import retries

#: What `scontrol show job` said (SLURM 22.05), and whether the job goes on.
SAID = {
    "JobState=COMPLETING Reason=TimeLimit Dependency=(null)": True,
    "JobState=RUNNING Reason=None Dependency=(null)": True,  # warned by --signal
    "JobState=COMPLETING Reason=None Dependency=(null)": False,  # scancel
    "JobState=CANCELLED Reason=None Dependency=(null)": False,
    "": False,
}


@pytest.mark.parametrize("said", SAID)
def test_who_goes_on(tmp_path, monkeypatch, said):
    program, asked = tmp_path / "scontrol", tmp_path / "asked"
    program.write_text(f"#!/bin/sh\n[ $1 = show ] && echo '{said}' || echo $@ >> {asked}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setattr(retries, "_END_S", 0)
    monkeypatch.setattr(retries.signal, "signal", lambda *_: None)
    assert retries.requeue() == SAID[said]
    assert asked.exists() == SAID[said]
    assert not asked.exists() or asked.read_text() == "requeue 7\n"


def test_without_slurm_nothing_goes_on(monkeypatch):
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    assert not retries.requeue()
