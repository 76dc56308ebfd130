"""A stand-in for a server program such as `vllm`: served.py ANSWERS HOW ARGUMENT...

ANSWERS is a file with the greedy text of each prompt, by its tokens. HOW: it works "well"; "dies" or "hangs" at its
start; finds its port "taken" the first time; "crashes" at its first request for another text; answers as an "other"
model. It has a child process, as real servers do, which ignores SIGTERM if the server hangs.
"""

import json
import os
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.reply({}, 200 if self.path == "/health" else 404)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if body["temperature"] == 0 and body["max_tokens"] == 8:
            text = "something else" if HOW == "other" else KNOWN[json.dumps(body["prompt"])]
        elif HOW == "crashes":
            print("EngineCore encountered an issue", flush=True)
            os._exit(1)
        else:
            text = f"served {body['seed']}"
        if body["max_tokens"] == 13:
            return self.reply({"message": "too long"}, 400)
        choice = {"text": text, "finish_reason": "length" if body["max_tokens"] == 9 else "stop"}
        return self.reply({"choices": [choice], "usage": {"completion_tokens": 2}}, 200)

    def reply(self, value, status):
        content = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    answers, HOW, *arguments = sys.argv[1:]
    if "--version" in arguments:
        print("0.33.0")
        sys.exit()
    if HOW == "dies":
        print("loading\nCUDA error: no kernel image is available", flush=True)
        sys.exit(3)
    if HOW == "taken" and not os.path.exists(f"{answers}.taken"):
        Path(f"{answers}.taken").touch()
        sys.exit("[Errno 98] Address already in use")
    KNOWN = json.loads(Path(answers).read_text())
    deaf = "trap '' TERM; while true; do sleep 1; done"
    child = subprocess.Popen(["sh", "-c", deaf] if HOW == "hangs" else ["sleep", "1000"])
    print(f"pids {os.getpid()} {child.pid}", flush=True)
    if HOW == "hangs":
        time.sleep(1000)
    port = int(arguments[arguments.index("--port") + 1])
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
