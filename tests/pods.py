"""A stand-in for Kubernetes on loopback: it takes the requests of Snakemake's executor and runs pods as processes."""

import base64
import json
import re
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

#: Quantities, as Kubernetes writes them.
_QUANTITY = re.compile(r"\d+(\.\d+)?(m|[kMGT]i?)?")


class Cluster(ThreadingHTTPServer):
    """An API server whose pods run, ``at_once`` at a time, in empty folders below ``folder`` with the environment ``image``."""

    daemon_threads = True

    def __init__(self, folder: Path, image: dict[str, str], at_once: int = 2):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder, self.image = folder, image
        self.secrets: dict[str, dict[str, str]] = {}
        self.jobs: dict[str, dict] = {}
        self.ended: dict[str, int] = {}  # exit status of each pod
        self.deleted: set[str] = set()
        self._turn = threading.Semaphore(at_once)
        config = {
            "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{self.server_address[1]}"}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "users": [{"name": "u", "user": {}}],
            "current-context": "c",
        }
        folder.mkdir()
        self.config = folder / "kubeconfig"
        self.config.write_text(json.dumps(config))

    def __enter__(self) -> "Cluster":
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def faults(self, job: dict) -> list[str]:
        """Why a real API server would refuse a ``job``, or no pod of it would ever start."""
        name, pod = job["metadata"]["name"], job["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        found = [] if re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", name) else [f"the name {name}"]
        asked, limits = (container["resources"].get(part) or {} for part in ("requests", "limits"))
        found += [f"{what}: {much}" for what, much in (asked | limits).items() if not _QUANTITY.fullmatch(much)]
        found += [f"{what} without a limit" for what in asked if "/" in what and limits.get(what) != asked[what]]
        for variable in container.get("env") or []:
            secret = variable["valueFrom"]["secretKeyRef"]
            if secret["key"] not in self.secrets.get(secret["name"], {}):
                found.append(f"no secret for {variable['name']}")
        return found

    def run(self, name: str) -> None:
        """Run the pod of a job: its command, in an empty folder."""
        (container,) = self.jobs[name]["spec"]["template"]["spec"]["containers"]
        folder = self.folder / name
        folder.mkdir()
        env = dict(self.image)
        for variable in container.get("env") or []:
            secret = variable["valueFrom"]["secretKeyRef"]
            env[variable["name"]] = self.secrets[secret["name"]][secret["key"]]
        with self._turn, open(self.folder / f"{name}.log", "wb") as log:
            command = [*container["command"], *container["args"]]
            self.ended[name] = subprocess.run(command, cwd=folder, env=env, stdout=log, stderr=log).returncode


class _Handler(BaseHTTPRequestHandler):
    server: Cluster
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def _say(self, body: object, status: int = 200) -> None:
        content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        cluster, name = self.server, body["metadata"]["name"]
        if self.path.endswith("/secrets"):
            cluster.secrets[name] = {
                key: base64.b64decode(value).decode() for key, value in (body.get("data") or {}).items()
            }
        elif faults := cluster.faults(body):
            return self._say({"kind": "Status", "status": "Failure", "message": "; ".join(faults), "code": 422}, 422)
        else:
            cluster.jobs[name] = body
            threading.Thread(target=cluster.run, args=(name,), daemon=True).start()
        return self._say(body, 201)

    def do_GET(self) -> None:
        cluster, parts = self.server, urlsplit(self.path)
        if parts.path.endswith("/pods"):
            name = parse_qs(parts.query)["labelSelector"][0].removeprefix("job-name=")
            ended = cluster.ended.get(name)
            state = {"running": {}} if ended is None else {"terminated": {"exitCode": ended}}
            status = {
                "name": "snakemake",
                "image": "i",
                "imageID": "i",
                "ready": True,
                "restartCount": 0,
                "state": state,
            }
            pod = {"metadata": {"name": f"{name}-pod"}, "status": {"containerStatuses": [status]}}
            return self._say({"kind": "PodList", "apiVersion": "v1", "items": [pod]})
        if parts.path.endswith("/log"):
            name = parts.path.split("/")[-2].removesuffix("-pod")
            return self._say((cluster.folder / f"{name}.log").read_text("utf-8", "replace"))
        name = parts.path.split("/")[-2]
        ended = cluster.ended.get(name)
        counts = {"active": 1} if ended is None else {"failed": 1} if ended else {"succeeded": 1}
        return self._say(cluster.jobs[name] | {"status": counts})

    def do_DELETE(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.deleted.add(self.path.split("?")[0].split("/")[-1])
        self._say({"kind": "Status", "apiVersion": "v1", "status": "Success"})
