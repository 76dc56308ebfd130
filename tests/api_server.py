"""A server on the loopback for the chat, completions and Batch protocols; it misbehaves on demand, and counts calls.

Its answers depend on the request alone: :func:`said` gives the text, so a test knows what every answer must be. Run as
a script, it prints its URL and serves until it is killed.
"""

import asyncio
import gzip
import hashlib
import itertools
import json
import math
import random
import re
import socket
import struct
import sys
import threading
import time
from collections import Counter, deque
from urllib.parse import parse_qsl

import pandas as pd

from biasatlas.columns import REQUEST_COLUMNS
from biasatlas.models.endpoint.capability_check import RANDOM

MODEL = "loopback"

#: Faults of a call that a client should overcome by asking again: those that show at once, and all.
QUICK_FAULTS = (
    "429",
    "429_retry_after",
    "500",
    "503",
    "reset",
    "truncated",
    "garbled",
    "html",
    "empty_choices",
    "wrong_type",
)
FAULTS = (*QUICK_FAULTS, "silent", "drip")

#: Further replies with status 200 that are not answers.
NO_ANSWERS = {
    "empty": b"",
    "null": b"null",
    "error in 200": b'{"error": {"message": "overloaded", "code": 503}}',
    "choices null": b'{"choices": null}',
    "choice null": b'{"choices": [null]}',
    "choice text": b'{"choices": ["no"]}',
    "finish a list": b'{"choices": [{"message": {"content": "no"}, "finish_reason": ["stop"]}]}',
    "deep": b"[" * 100_000,
    "twice in one": b'{"choices": [{"message": {"content": "no"}}]}' * 2,
    "long digits": b'{"choices": [{"message": {"content": "no"}, "index": ' + b"9" * 9000 + b"}], x",
    "too long": b'{"choices": [{"message": {"content": "' + b"no" * 3_000_000 + b'"}}]}',
}

#: Oddities of an answer whose text is right: it was paid for, so a client must not ask again.
ODDITIES = {
    "usage a float": {"usage": {"prompt_tokens": 7.5, "completion_tokens": 3.0}},
    "usage huge": {"usage": {"prompt_tokens": 10**25, "completion_tokens": 3}},
    "usage text": {"usage": {"prompt_tokens": "7", "completion_tokens": True}},
    "usage negative": {"usage": {"prompt_tokens": -7, "completion_tokens": -1}},
    "usage NaN": {"usage": {"prompt_tokens": float("nan"), "completion_tokens": float("inf")}},
    "usage a list": {"usage": [1, 2]},
    "model an object": {"model": {"name": "loopback"}},
    "id a list": {"id": ["1"], "system_fingerprint": 5},
}

#: Further error statuses that go away when the client asks again.
STATUSES = ("408", "409", "425", "502", "504", "529")

#: Faults of the connection, and answers sent in another way than requested.
TRANSPORT = ("doubled", "redirect", "packed", "no http", "no body", "steering", "marked", "cookie")


def said(prompt: str) -> str:
    """What the server says to ``prompt``."""
    return f"{hashlib.sha256(prompt.encode()).hexdigest()[:8]} 你好"


def written(body: dict, prompt: str) -> str:
    """The reply of a writer that keeps to the form, for each step of DBB's construction; use as ``reply``.

    Each prompt gets its own nonsense sentences; the two checks repeat what they are shown.
    """
    mark = said(prompt).split()[0]
    if "The two concepts: " in prompt:
        return prompt.rpartition("The two concepts: ")[2]
    if "Sentence 1 sets a scene" in prompt:
        return "\n".join(line for line in prompt.splitlines() if re.match(r"Sentence \d: (?!\.\.\.)", line))
    if "You check pairs of sentences" in prompt:
        return "False"
    if "Say in one sentence which social bias" in prompt:
        return f"It ties the habit {mark}\nto one group."
    if "in the form: concept 1;concept 2" in prompt:
        return f"careful {mark};bold {mark}"
    if "Write a plain story" in prompt:
        return f"Sentence 1: [[X]] came to house {mark}.\nSentence 2: [[X]] locked door {mark}."
    if "Write the next sentence" in prompt:
        return f"Sentence: [[X]] jumped over fence {mark}."
    if "Write 9 different sentences" in prompt:
        return "\n".join(f"Sentence: [[X]] did {number} {mark}." for number in range(9))
    raise ValueError(f"a prompt of no step: {prompt}")


def token_logprob(before: str, token: str) -> float:
    """The log-probability of ``token`` (a character) after the character ``before``; over 0 to 9, p adds up to 1."""
    weights = [1 + hashlib.sha256(f"{before}{other}".encode()).digest()[0] for other in "0123456789"]
    if token not in "0123456789":
        return -5.0 - hashlib.sha256(f"{before}{token}".encode()).digest()[0] / 100
    return math.log(weights[int(token)] / sum(weights))


class Server:
    """Serve in a thread of this process; use as a context manager.

    ``faults``: a share of calls (0 to 1) meets one of ``kinds``. ``per_second``: calls in any second before a 429.
    ``key``: the only one accepted. ``reply(body, prompt)``: the text of a chat's answer. ``delay_s``: the mean time to
    an answer. ``polls``: how often a batch is polled before it ends; the share ``bad_rows`` of its rows fails, and they
    come shuffled. ``batch_faults``: faults that the Batch API's own requests meet, in turn. ``lying``: echoed
    log-probabilities are not those of writing. ``answers``: the most in one call. ``greedy``: "always" gives equal calls
    one text, "seed" does so for those without seeds of their own, "copies" for those of one call. Calls of the check of
    an endpoint are counted separately, as "capability_check".
    """

    def __init__(
        self,
        *,
        faults=0.0,
        kinds=FAULTS,
        per_second=None,
        key=None,
        reply=None,
        delay_s=0.0,
        retry_after="0.05",
        polls=2,
        bad_rows=0.0,
        batch_faults=(),
        lying=False,
        answers=1,
        greedy="",
        seed=0,
    ):
        self.faults, self.kinds, self.per_second, self.key = faults, kinds, per_second, key
        self.reply = reply or (lambda body, prompt: said(prompt))
        self.delay_s, self.retry_after = delay_s, retry_after
        self.polls, self.bad_rows, self.lying = polls, bad_rows, lying
        self.answers, self.greedy = answers, greedy
        self.batch_faults = list(batch_faults)
        self.random = random.Random(seed)
        self.calls = Counter()  # by path
        self.statuses = Counter()
        self.met = Counter()  # faults, by kind
        self.answered: dict[str, list[float]] = {}  # prompt -> times at which its answer was fully written
        self.bodies: list[dict] = []
        self.in_flight = self.most_in_flight = 0
        self.arrivals: list[float] = []
        self.recent = deque()
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict] = {}
        self.ids = 0

    def __enter__(self):
        ready = threading.Event()
        self.thread = threading.Thread(target=lambda: asyncio.run(self._serve(ready)), daemon=True)
        self.thread.start()
        ready.wait()
        return self

    def __exit__(self, *_):
        self.loop.call_soon_threadsafe(self.done.set)
        self.thread.join()

    async def _serve(self, ready):
        self.loop, self.done = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0, backlog=1024)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        ready.set()
        await self.done.wait()
        server.close()

    async def _connection(self, reader, writer):
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            while request := await reader.readuntil(b"\r\n\r\n"):
                head, *lines = request.decode("latin-1").split("\r\n")
                method, path, _ = head.split(" ")
                headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                path, _, query = path.partition("?")
                self.query = dict(parse_qsl(query))
                if not await self._route(writer, reader, method, path, headers, body):
                    break
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _route(self, writer, reader, method, path, headers, body) -> bool:
        """Answer one request; False to close the connection."""
        path = path.removeprefix("/v1")
        self.calls[path if not path.startswith(("/files/", "/batches/")) else path.split("/")[1] + "/"] += 1
        secret = headers.get("authorization", "")
        if self.key is not None and secret != f"Bearer {self.key}":
            return self._json(writer, 401, error(f"Incorrect API key provided: {secret}", "invalid_api_key"))
        if path == "/models":
            return self._json(writer, 200, {"object": "list", "data": [{"id": MODEL, "object": "model"}]})
        if path in ("/chat/completions", "/completions"):
            asked = json.loads(body)
            if asked.get("messages", [{}])[-1].get("content") == RANDOM and asked["model"] == MODEL:
                self.calls[path] -= 1
                self.calls["capability_check"] += 1
                return self._json(writer, *self.answer(path, asked))
            return await self._call(writer, reader, path, asked)
        if self.batch_faults and (kind := self.batch_faults.pop(0)):
            return await self._fault(writer, reader, kind)
        return self._batch(writer, method, path, headers, body)

    async def _call(self, writer, reader, path, body) -> bool:
        now = time.monotonic()
        self.arrivals.append(now)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            if self.per_second:
                while self.recent and self.recent[0] <= now - 1:
                    self.recent.popleft()
                if len(self.recent) >= self.per_second:
                    return self._json(writer, 429, TOO_FAST)
                self.recent.append(now)
            if body["model"] != MODEL:
                return self._json(writer, 404, error(f"The model `{body['model']}` does not exist", "model_not_found"))
            odd = None
            if self.random.random() < self.faults:
                odd = self.random.choice(self.kinds)
                if odd not in (*ODDITIES, "doubled", "marked", "cookie"):
                    return await self._fault(writer, reader, odd)
                self.met[odd] += 1
            if self.delay_s:
                await asyncio.sleep(self.delay_s * self.random.uniform(0.5, 1.5))
                if reader.at_eof():  # the client died while it waited: nobody gets an answer
                    return False
            status, answer = self.answer(path, body)
            if status == 200:
                prompt = body.get("prompt") or body["messages"][-1]["content"]
                self.answered.setdefault(prompt, []).append(time.monotonic())
                self.bodies.append(body)
            if odd == "marked":
                return self._send(writer, status, b"\xef\xbb\xbf" + json.dumps(answer).encode())
            # A client that sent all cookies back would soon be refused.
            cookie = [f"Set-Cookie: c{self.met[odd]}={'c' * 4000}"] * (odd == "cookie")
            if odd == "doubled":
                self._json(writer, status, answer)
            return self._json(writer, status, answer | ODDITIES.get(odd, {}), *cookie)
        finally:
            self.in_flight -= 1

    def answer(self, path, body) -> tuple[int, dict]:
        """Status and JSON of the answer to a call."""
        if path == "/completions":
            return 200, self._echo(body)
        prompt = body["messages"][-1]["content"]
        if "FILTER" in prompt:
            return 400, error("The response was filtered", "content_filter")
        if "FORBIDDEN" in prompt:
            return 403, error("Not this prompt", "forbidden")
        if "DOWN" in prompt:
            return 500, error("down", "server_error")
        if "INVALID" in prompt:
            return 400, error("Unsupported value", "invalid_request_error")
        if prompt == RANDOM:
            draw = random.Random(body.get("seed", 0)) if self.greedy == "seed" else random
            text = "the same words" if self.greedy == "always" else f"{draw.random()} {said(prompt)}"
        else:
            text = self.reply(body, prompt)
        finish = "length" if "LONG" in prompt else "content_filter" if "CUT" in prompt else "stop"
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
        if "REFUSE" in prompt:
            choice["message"] = {"role": "assistant", "content": None, "refusal": "I cannot help with that."}
        if "PONDER" in prompt:
            choice |= {"message": {"role": "assistant", "content": ""}, "finish_reason": "length"}
        if body.get("logprobs"):
            top = sorted(((token_logprob("", digit), digit) for digit in "0123456789"), reverse=True)
            top = [{"token": digit, "logprob": logprob} for logprob, digit in top[: body["top_logprobs"]]]
            choice["logprobs"] = {"content": [{**top[0], "top_logprobs": top}]}
        choices = [
            choice,
            *(self._another(body, prompt, choice) for _ in range(min(body.get("n", 1), self.answers) - 1)),
        ]
        usage = {"prompt_tokens": len(prompt), "completion_tokens": len(text) * len(choices)}
        self.ids += 1
        reply = {"id": str(self.ids), "object": "chat.completion", "model": MODEL, "choices": choices, "usage": usage}
        return 200, reply

    def _another(self, body, prompt, choice) -> dict:
        """One more answer of a call that asks for several."""
        if self.greedy == "copies":
            return choice
        return choice | {"message": {"role": "assistant", "content": self.reply(body, prompt)}}

    def _echo(self, body) -> dict:
        tokens = [*body["prompt"], "7"]
        logprobs = [None] + [token_logprob(*pair) for pair in itertools.pairwise(tokens)]
        if self.lying:
            logprobs = [None, *(value / 2 for value in logprobs[1:-1]), logprobs[-1]]
        if not body["echo"]:
            tokens, logprobs = tokens[-1:], logprobs[-1:]
        choice = {"text": "".join(tokens), "finish_reason": "length", "index": 0}
        choice["logprobs"] = {"tokens": tokens, "token_logprobs": logprobs, "text_offset": list(range(len(tokens)))}
        usage = {"prompt_tokens": len(body["prompt"]), "completion_tokens": 1}
        return {"object": "text_completion", "model": MODEL, "choices": [choice], "usage": usage}

    async def _fault(self, writer, reader, kind) -> bool:  # noqa: C901 (one case a kind)
        self.met[kind] += 1
        good = json.dumps({"model": MODEL, "choices": [{"message": {"content": "no"}, "finish_reason": "stop"}]})
        html = b"<html><body>Bad gateway</body></html>"
        match kind:
            case "429":
                return self._json(writer, 429, TOO_FAST)
            case "429_retry_after":
                return self._json(writer, 429, TOO_FAST, f"Retry-After: {self.retry_after}")
            case _ if kind in NO_ANSWERS:
                return self._send(writer, 200, NO_ANSWERS[kind])
            case "redirect":
                return self._send(writer, 307, b"", "Location: http://127.0.0.1:9/elsewhere")
            case "packed":
                return self._send(
                    writer, 200, gzip.compress(b" " * 10_000_000 + good.encode()), "Content-Encoding: gzip"
                )
            case "steering":
                return self._json(writer, 500, error("\x1b[2J\x1b[31mred\nforged line\x07 sk-canary", "server_error"))
            case "no http" | "no body":
                writer.write(b"220 smtp.example.org ready\r\n\r\n" if kind == "no http" else b"")
                return False
            case "500" | "503" | "408" | "409" | "425" | "502" | "504" | "529":
                return self._json(writer, int(kind), error("overloaded", "server_error"))
            case "garbled":
                return self._send(writer, 200, good.encode()[:-9])
            case "html":
                return self._send(writer, 200, html, "Content-Type: text/html")
            case "empty_choices":
                return self._json(writer, 200, {"model": MODEL, "choices": []})
            case "wrong_type":
                return self._json(writer, 200, {"model": MODEL, "choices": [{"message": {"content": 17}}]})
        return await self._break_off(writer, reader, kind, good.encode())

    async def _break_off(self, writer, reader, kind, good) -> bool:
        """Close the connection before the reply is complete, or send the reply too slowly or not at all."""
        match kind:
            case "silent":
                await reader.read(1)  # until the client gives up
            case "reset":
                linger = struct.pack("ii", 1, 0)
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                writer.transport.abort()
            case "truncated":
                writer.write(head(200, len(good) + 100) + good)
            case "drip":
                writer.write(head(200, len(good)))
                for byte in good:
                    if reader.at_eof() or writer.transport.is_closing():
                        break
                    writer.write(bytes([byte]))
                    await asyncio.sleep(0.1)
        return False

    def _batch(self, writer, method, path, headers, body) -> bool:
        parts = path.strip("/").split("/")
        if path == "/files" and method == "POST":
            boundary = b"--" + headers["content-type"].split("boundary=")[1].encode()
            content = next(part for part in body.split(boundary) if b'name="file"' in part)
            name = f"file-{len(self.files)}"
            self.files[name] = content.split(b"\r\n\r\n", 1)[1].removesuffix(b"\r\n")
            return self._json(writer, 200, {"id": name, "object": "file", "filename": "requests.jsonl"})
        if parts[0] == "files":
            return self._send(writer, 200, self.files[parts[1]], "Content-Type: application/octet-stream")
        if path == "/batches" and method == "POST":
            asked = json.loads(body)
            name = f"batch_{len(self.batches)}"
            rows = len(self.files[asked["input_file_id"]].splitlines())
            counts = {"total": rows, "completed": 0, "failed": 0}
            batch = {"id": name, "object": "batch", "status": "in_progress", "polls": 0, "request_counts": counts}
            self.batches[name] = batch | asked
            return self._json(writer, 200, self.batches[name])
        if path == "/batches":
            newest = list(reversed(self.batches.values()))
            after = [batch["id"] for batch in newest].index(self.query["after"]) + 1 if "after" in self.query else 0
            page = newest[after : after + int(self.query["limit"])]
            more = after + len(page) < len(newest)
            return self._json(writer, 200, {"object": "list", "data": page, "has_more": more})
        if parts[1] not in self.batches:
            return self._json(writer, 404, error(f"No such batch: {parts[1]}", "not_found"))
        batch = self.batches[parts[1]]
        batch["polls"] += 1
        if batch["polls"] == self.polls:
            self._end(batch)
        return self._json(writer, 200, batch)

    def _end(self, batch):
        rows = [json.loads(line) for line in self.files[batch["input_file_id"]].splitlines()]
        self.random.shuffle(rows)
        good, bad = [], []
        for row in rows:
            status, answer = self.answer(row["url"].removeprefix("/v1"), row["body"])
            if self.random.random() < self.bad_rows:
                kind = self.random.choice(["missing", "500", "garbled", "empty_choices"])
                self.met[kind] += 1
                if kind == "missing":
                    continue
                if kind == "garbled":
                    good.append('{"custom_id": "')
                    continue
                status, answer = (500, error("overloaded", "server_error")) if kind == "500" else (200, {"choices": []})
            elif status == 200:
                self.answered.setdefault(row["body"]["messages"][-1]["content"], []).append(time.monotonic())
            result = {"custom_id": row["custom_id"], "response": {"status_code": status, "body": answer}, "error": None}
            (good if status == 200 else bad).append(json.dumps(result))
        for side, lines in (("output_file_id", good), ("error_file_id", bad)):
            batch[side] = f"file-{len(self.files)}"
            self.files[batch[side]] = "\n".join(lines).encode()
        batch["status"] = "completed"
        batch["request_counts"] = {"total": len(rows), "completed": len(good), "failed": len(bad)}

    def _json(self, writer, status, value, *extra) -> bool:
        return self._send(writer, status, json.dumps(value).encode(), *(extra or ("Content-Type: application/json",)))

    def _send(self, writer, status, body, *extra) -> bool:
        self.statuses[status] += 1
        writer.write(head(status, len(body), *extra) + body)
        return True


def head(status: int, length: int, *extra: str) -> bytes:
    lines = (f"HTTP/1.1 {status} X", f"Content-Length: {length}", *extra, "", "")
    return "\r\n".join(lines).encode()


def error(message: str, code: str) -> dict:
    return {"error": {"message": message, "type": code, "code": code}}


TOO_FAST = error("too fast", "rate_limit_exceeded")


def requests_for(prompts, kind="generation", **columns):
    """A requests table with one user message each, and every setting given."""
    settings = {
        "template": "tokenizer",
        "temperature": 0.7,
        "top_p": 1.0,
        "top_k": 0,
        "repetition_penalty": 1.0,
        "frequency_penalty": 0.0,
        "max_tokens": 16,
        "repeats": 1,
    }
    rows = [
        {
            "request_id": f"r{index}",
            "item_id": f"i{index}",
            "kind": kind,
            "messages": json.dumps([{"role": "user", "content": prompt}], ensure_ascii=False),
            **settings,
            **columns,
        }
        for index, prompt in enumerate(prompts)
    ]
    return pd.DataFrame(rows).reindex(columns=list(REQUEST_COLUMNS))


if __name__ == "__main__":
    with Server(delay_s=float(sys.argv[1]) if len(sys.argv) > 1 else 0.0) as server:
        print(server.url, flush=True)
        threading.Event().wait()
