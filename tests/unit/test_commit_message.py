"""The hook that checks what a commit says, on messages as git hands them over."""

import subprocess
import sys

import pytest

from biasatlas import ROOT

HOOK = ROOT / ".githooks" / "commit-msg"
SHORT = "Put what people type behind one command"


@pytest.mark.parametrize(
    ("message", "faults"),
    [
        (f"{SHORT}\n\nThere were five ways to type one.\n", []),
        (f"{'x' * 72}\n\nWhy.\n", []),
        (f"{'x' * 73}\n\nWhy.\n", ["the subject has 73 characters"]),
        (f"{SHORT}\n", ["no body"]),
        (f"{SHORT}\n\n# Please enter the commit message\n# On branch main\n", ["no body"]),
        (f"{SHORT}\n\n# ------------------------ >8 ------------------------\ndiff --git\n+a\n", ["no body"]),
        (f"{SHORT}\nThere were five.\n", ["the second line is not empty", "no body"]),
        ("# nothing but comments\n", ["the message is empty"]),
        ("Merge branch 'other'\n", []),
        ("fixup! An earlier one\n", []),
    ],
)
def test_a_message_is_taken_or_its_faults_are_named(tmp_path, message, faults):
    (tmp_path / "message").write_text(message)
    done = subprocess.run([sys.executable, HOOK, tmp_path / "message"], capture_output=True, text=True, check=False)
    assert done.returncode == bool(faults)
    lines = done.stderr.splitlines()
    assert len(lines) == len(faults)
    assert all(fault in line for fault, line in zip(faults, lines, strict=True))


def test_git_runs_it_and_a_range_begins_after_its_base(tmp_path):
    def git(*arguments, check=True):
        command = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", "-c", f"core.hooksPath={HOOK.parent}"]
        return subprocess.run([*command, *arguments], cwd=tmp_path, check=check, capture_output=True, text=True)

    git("init", "--quiet")
    git("commit", "--allow-empty", "--no-verify", "--message", "x" * 100)
    assert "no body" in git("commit", "--allow-empty", "--message", "No body", check=False).stderr
    git("commit", "--allow-empty", "--message", "A body", "--message", "Why.")
    whole, new = (
        subprocess.run([sys.executable, HOOK, "--range", commits], cwd=tmp_path, capture_output=True, text=True)
        for commits in ("HEAD", "HEAD~1..HEAD")
    )
    assert (whole.returncode, new.returncode, new.stderr) == (1, 0, "")
    assert len(whole.stderr.splitlines()) == 2  # its length, and no body
