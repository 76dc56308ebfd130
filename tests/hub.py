"""A stand-in for the Hugging Face hub on the loopback: one model repository at one commit."""

import contextlib
import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@contextlib.contextmanager
def hub(repository: str, folder: Path) -> Iterator[str]:
    """Serve the files of ``folder`` as ``repository``, where ``main`` is COMMIT; yield the address (HF_ENDPOINT)."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            path = self.path.partition("?")[0]
            if path in (f"/api/models/{repository}/revision/{revision}" for revision in ("main", COMMIT)):
                siblings = [{"rfilename": file.name} for file in sorted(folder.iterdir())]
                body, headers = json.dumps({"id": repository, "sha": COMMIT, "siblings": siblings}).encode(), {}
            elif path == f"/api/models/{repository}/tree/{COMMIT}":
                files = [(file.name, file.read_bytes()) for file in sorted(folder.iterdir())]
                tree = [
                    {"type": "file", "path": name, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}
                    for name, data in files
                ]
                body, headers = json.dumps(tree).encode(), {}
            elif path.startswith(f"/{repository}/resolve/{COMMIT}/"):
                body = (folder / path.rpartition("/")[2]).read_bytes()
                headers = {"ETag": f'"{hashlib.sha256(body).hexdigest()}"', "X-Repo-Commit": COMMIT}
            else:
                body, headers = b"no such thing here", {"X-Error-Code": "RepoNotFound"}
            self.send_response(404 if "X-Error-Code" in headers else 200)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
