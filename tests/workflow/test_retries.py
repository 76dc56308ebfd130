"""Calls that failed are asked again by the next runs, so often and no more; all others are asked once."""

import json

from api_server import MODEL, Server
from conftest import snakemake

TARGET = "results/responses/endpoint/mine/recommended.parquet"


class Rejecting(Server):
    """Answers no prompt of a length that ``rejected`` divides."""

    rejected = 7

    def answer(self, path, body):
        if self.rejected and len(body["messages"][-1]["content"]) % self.rejected == 0:
            return 400, {"error": {"message": "not this one"}}
        return super().answer(path, body)


def test_failed_calls_are_asked_again_by_the_next_runs(tmp_path):
    with Rejecting(reply=lambda body, prompt: "A") as server:
        entry = {"kind": "api", "base_url": server.url, "model": MODEL, "max_failed_share": 1}
        run_of = {"benchmark": "crows_pairs", "data": "sample"}  # a name of its own
        config = {"models": {"endpoint": entry}, "benchmarks": {"mine": run_of}}
        (tmp_path / "config.json").write_text(json.dumps(config))

        def run():
            """How many calls a run makes."""
            before = server.calls["/chat/completions"]
            done = snakemake(TARGET, "--configfile", str(tmp_path / "config.json"), folder=tmp_path)
            assert done.returncode == 0, done.stdout
            return server.calls["/chat/completions"] - before

        calls, rejected = run(), run()
        assert 0 < rejected < calls
        server.rejected = None
        assert run() == rejected
        assert run() == 0
        assert {len(times) for times in server.answered.values()} == {1}
