"""Each provider's dialect: what it is sent, and how what it replies is read (exchanges.yaml)."""

import json
from pathlib import Path

import pytest
import yaml
from api_server import Server, requests_for

from biasatlas.benchmarks.shared.parsing.named import PARSERS
from biasatlas.errors import UserError
from biasatlas.models.endpoint import Found
from biasatlas.models.endpoint.answer import Endpoint
from biasatlas.models.endpoint.entry import ApiEntry
from biasatlas.models.store import ResponseStore

EXCHANGES = yaml.safe_load((Path(__file__).parent / "exchanges.yaml").read_text(encoding="utf-8"))


class Provider(Server):
    """Gives one reply to whatever comes, and keeps what came."""

    def __init__(self, status, reply):
        super().__init__()
        self.exchange, self.came = (status, reply), []

    async def _route(self, writer, parser, method, path, headers, body) -> bool:
        self.came.append((path, json.loads(body)))
        return self._json(writer, *self.exchange)


@pytest.mark.parametrize("row", EXCHANGES, ids=lambda row: row["provider"])
def test_exchange(row, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("ssl.SSLContext.load_verify_locations", lambda *_: None)  # slow, and nothing here is encrypted
    with Provider(row.get("status", 200), row.get("reply")) as server:
        url = server.url.removesuffix("/v1") + row["path"]
        entry = ApiEntry(kind="api", base_url=url, attempts=1, max_failed_share=1, **row["entry"])
        endpoint = Endpoint(entry, parsers=PARSERS, found=Found(**row.get("found", {})))
        requests, store = requests_for(["Who?"], **row.get("asked", {})), ResponseStore(tmp_path / "store")
        if "error" in row:
            with pytest.raises(UserError, match=row["error"]):
                endpoint.answer(requests, "task", store)
        else:
            frame, metadata = endpoint.answer(requests, "task", store)
    if "sent" in row:
        ((path, body),) = server.came
        assert path == row["path"] + ("/completions" if "prompt" in body else "/chat/completions")
        assert body.pop("messages", None) in (None, [{"role": "user", "content": "Who?"}])
        assert body == row["sent"]
    else:
        assert not server.came
    for name, value in row.get("gives", {}).items():
        got = frame.iloc[0][name]
        if name == "detail":
            assert value in got
        elif name == "probabilities":
            assert json.loads(got) == pytest.approx(value, abs=1e-6)
        else:
            assert got == value, name
    if "gives" in row:
        assert (row.get("warns", "") in "; ".join(metadata["warnings"])) and bool(metadata["warnings"]) == (
            "warns" in row
        )
