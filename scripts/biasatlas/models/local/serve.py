"""A server that a job runs beside the engine: it writes texts faster, and ends with the job.

It gets prompts as the tokens that the engine would get, so no template or tokenizer comes between. It has an
environment of its own, since servers pin their own torch: only its program must be on the PATH.
"""

import json
import logging
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from biasatlas.engine.generate import Prompt
from biasatlas.errors import UserError
from biasatlas.models.endpoint import services
from biasatlas.models.hub import files_sha256
from biasatlas.models.local import keeper
from biasatlas.models.local.entry import HfEntry

_log = logging.getLogger(__name__)

#: The name that the server gives the model.
_MODEL = "biasatlas"
#: Seconds that it may take to load its weights, and to answer one request; how many requests are sent at once.
_START_S, _ANSWER_S, _AT_ONCE = 1800.0, 600.0, 64
#: How many requests' greedy beginnings, of how many tokens, are compared with the engine's, and the share that must be
#: the same: other kernels decide close calls between two tokens differently.
COMPARED, COMPARED_TOKENS, _AGREEING = 16, 8, 0.75
#: Lines of its output that are shown when it dies.
_LAST = 5

#: The command that starts a server; {folder}, {dtype}, {gpus} and {port} are filled in. A part of the GPU's memory is
#: left to the engine, which answers likelihoods and choices. Arguments of the entry come last and win.
_COMMANDS = {
    "vllm": "vllm serve {folder} --served-model-name {model} --dtype {dtype} --tensor-parallel-size {gpus} "
    "--generation-config vllm --gpu-memory-utilization 0.45 --host 127.0.0.1 --port {port}",
    "sglang": "python3 -m sglang.launch_server --model-path {folder} --served-model-name {model} --dtype {dtype} "
    "--tp-size {gpus} --mem-fraction-static 0.45 --host 127.0.0.1 --port {port}",
    "llama.cpp": "llama-server --alias {model} --host 127.0.0.1 --port {port}",
}
_VERSIONS = {
    "vllm": ["vllm", "--version"],
    "sglang": ["python3", "-c", "import sglang; print(sglang.__version__)"],
    "llama.cpp": ["llama-server", "--version"],
}

#: Takes the index of a prompt, the text of its answer, "stop" or "length", and the text's number of tokens.
Done = Callable[[int, str, str, int], None]

_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # this machine needs no proxy


@dataclass(frozen=True)
class Serving:
    """How a model is served, which may affect its texts; the server's output goes to the file ``log``."""

    kind: str
    command: tuple[str, ...]
    arguments: tuple[str, ...]
    version: str
    log: Path
    files_sha256: str = ""  # of the arguments that are files, such as llama.cpp's weights

    @classmethod
    def of(cls, entry: HfEntry, folder: Path, gpus: int, log: Path, hashes: Path | None = None) -> "Serving":
        """The server that an ``entry`` names. Raises UserError for a program that is not on PATH, or has no version."""
        kind = entry.serve or ""
        filled = {"folder": str(folder), "model": _MODEL, "dtype": entry.dtype, "gpus": str(max(1, gpus))}
        command = [filled.get(word.strip("{}"), word) for word in _COMMANDS[kind].split()]
        command += ["--trust-remote-code"] * (entry.trust_remote_code and kind != "llama.cpp")
        try:
            run = subprocess.run(_VERSIONS[kind], capture_output=True, text=True, timeout=300, check=True)
        except (OSError, subprocess.SubprocessError) as error:
            raise UserError(
                f"serve: {kind}: `{' '.join(_VERSIONS[kind])}` fails ({error}). Install it in an environment of its "
                "own, and put that on the PATH of the job; or leave `serve` out."
            ) from None
        version = (run.stdout or run.stderr).strip().splitlines()[-1:]
        files = files_sha256(map(Path, entry.serve_files), hashes) if entry.serve_files else ""
        return cls(kind, (*command, *entry.serve_arguments), tuple(entry.serve_arguments), "".join(version), log, files)

    @property
    def identity(self) -> dict[str, Any]:
        """The part of each answer's key that says how the model is served."""
        files = {"files_sha256": self.files_sha256} if self.files_sha256 else {}
        return {"kind": self.kind, "version": self.version, "arguments": list(self.arguments)} | files

    def start(self, name: str) -> "Server":
        """Start the server; return it once it can answer. Raises UserError, with its last output, if it never can."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.log.touch()
        while True:
            server = Server(self, name)
            if server.is_up():
                return server


class Server:
    """A running server. It ends with this process, however that ends, or when it is closed."""

    def __init__(self, serving: Serving, name: str):
        self.serving, self.name = serving, name
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self._before = serving.log.stat().st_size if serving.log.exists() else 0
        command = [str(port) if word == "{port}" else word for word in serving.command]
        program = shutil.which(command[0]) or command[0]
        _log.info("%s: starting %s; its output goes to %s", name, " ".join(command), serving.log)
        self._keeper = subprocess.Popen(
            [sys.executable, keeper.__file__, str(serving.log), program, *command[1:]],
            stdin=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C goes to the job alone, with which the pipe ends
        )

    def is_up(self) -> bool:
        """Wait until it can answer; False if another program took its port. Raises UserError if it dies."""
        until = time.monotonic() + _START_S
        while time.monotonic() < until:
            if self._keeper.poll() is not None:
                if "address already in use" in self._said().lower():
                    return False
                raise self._died()
            try:
                with _opener.open(f"{self.url}/health", timeout=5):
                    return True
            except (OSError, ValueError):  # not yet, or still loading
                time.sleep(0.2)
        self.close()
        raise UserError(f"{self.name}: its server did not come up within {_START_S:.0f} s{self._last_words()}")

    def generate(self, prompts: Sequence[Prompt], eos_token_ids: Sequence[int], done: Done) -> dict[str, int]:
        """Have each prompt answered; ``done`` gets each answer as soon as it arrives. Returns counts of tokens.

        Raises UserError, with the server's last output, if it dies or refuses a prompt.
        """
        fed = made = 0
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            asked = {pool.submit(self._ask, prompt, eos_token_ids): at for at, prompt in enumerate(prompts)}
            try:
                for answer in as_completed(asked):
                    text, finish_reason, tokens = answer.result()
                    fed, made = fed + len(prompts[asked[answer]].tokens), made + tokens
                    done(asked[answer], text, finish_reason, tokens)
            except BaseException:
                self.close()
                pool.shutdown(cancel_futures=True)
                raise
        return {"tokens_fed": fed, "tokens_made": made}

    def check_agreement(self, engines: Iterable[str | None], servers: Iterable[str | None]) -> None:
        """Raise UserError unless the server writes greedy texts as the engine does.

        Half a character at the end of a text is ignored: only the engine gives it, vLLM does not.
        """
        pairs = [(str(one).rstrip("\ufffd"), str(other)) for one, other in zip(engines, servers, strict=True)]
        different = [pair for pair in pairs if pair[0] != pair[1]]
        same = len(pairs) - len(different)
        _log.info("%s: %d of %d greedy texts of its server are the engine's", self.name, same, len(pairs))
        if len(different) > (1 - _AGREEING) * len(pairs):
            self.close()
            one, other = different[0]
            raise UserError(
                f"{self.name}: its server writes {len(different)} of {len(pairs)} greedy texts otherwise than the "
                f"engine (as {other!r}, not {one!r}): it serves another model, or in another precision. Correct "
                "`serve_arguments`, or leave `serve` out."
            )

    def close(self) -> None:
        """End the server, and wait until it is gone."""
        assert self._keeper.stdin
        self._keeper.stdin.close()
        self._keeper.wait()

    def _ask(self, prompt: Prompt, eos_token_ids: Sequence[int]) -> tuple[str, str, int]:
        sampling = prompt.sampling
        dialect = services().dialects["llama.cpp" if self.serving.kind == "llama.cpp" else "vllm"]
        assert dialect.top_k and dialect.repetition_penalty
        body: dict[str, Any] = {
            "model": _MODEL,
            "prompt": prompt.tokens.tolist(),
            "max_tokens": prompt.max_tokens,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "frequency_penalty": sampling.frequency_penalty,
            "seed": prompt.seed % 2**31,
            dialect.top_k: sampling.top_k or dialect.no_top_k,
            dialect.repetition_penalty: sampling.repetition_penalty,
        }
        body |= dialect.off | ({} if self.serving.kind == "llama.cpp" else {"stop_token_ids": list(eos_token_ids)})
        request = urllib.request.Request(
            f"{self.url}/v1/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        try:
            with _opener.open(request, timeout=_ANSWER_S) as response:
                reply = json.load(response)
            choice, usage = reply["choices"][0], reply.get("usage") or {}
            finish = {"ok": "stop", "truncated": "length"}[services().of_finish(choice["finish_reason"])]
            return str(choice["text"]), finish, int(usage.get("completion_tokens") or 0)
        except urllib.error.HTTPError as error:
            if error.code < 500:
                said = error.read(2000).decode("utf-8", "replace")
                raise UserError(
                    f"{self.name}: its server refuses a prompt ({error.code} {said}){self._last_words()}"
                ) from None
            raise self._died() from None
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise self._died(error) from None

    def _died(self, error: Exception | None = None) -> UserError:
        """The error to raise for a server that ended, or that gave no valid answer."""
        try:
            how = f"ended with exit status {self._keeper.wait(5)}"
        except subprocess.TimeoutExpired:
            how = f"gives no answer ({type(error).__name__}: {error})" if error else "fails"
        return UserError(f"{self.name}: its server {how}{self._last_words()}")

    def _last_words(self) -> str:
        lines = [line.strip() for line in self._said().splitlines() if line.strip()][-_LAST:]
        return f". Its last words: {' | '.join(lines) or 'none'}. All of them: {self.serving.log}"

    def _said(self) -> str:
        with open(self.serving.log, "rb") as log:
            log.seek(self._before)
            return log.read()[-20_000:].decode("utf-8", "replace")
