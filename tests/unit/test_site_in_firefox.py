"""The site in Firefox: what Chromium shows, Firefox shows too. Driven by Marionette, the protocol that Firefox itself speaks."""

import contextlib
import itertools
import json
import socket
import subprocess
import time

import pytest
from needs import FIREFOX, need
from test_site_in_browser import COUNT, write_five

from biasatlas.report.site import PAGES


class Marionette:
    """A session of a Firefox that listens on ``port``."""

    def __init__(self, port):
        self._socket = self._connected(port)
        self._stream, self._numbers = self._socket.makefile("rb"), itertools.count(1)
        self._message()
        self("WebDriver:NewSession", {})

    @staticmethod
    def _connected(port):
        for _ in range(600):
            with contextlib.suppress(ConnectionRefusedError):
                return socket.create_connection(("127.0.0.1", port), timeout=120)
            time.sleep(0.2)
        raise TimeoutError("Firefox did not start")

    def _message(self):
        length = b""
        while (byte := self._stream.read(1)) not in (b":", b""):
            length += byte
        return json.loads(self._stream.read(int(length)))

    def __call__(self, command, parameters):
        asked = json.dumps([0, next(self._numbers), command, parameters])
        self._socket.sendall(f"{len(asked.encode())}:{asked}".encode())
        _, _, error, result = self._message()
        assert error is None, error
        return result

    def open(self, address):
        self("WebDriver:Navigate", {"url": "about:blank"})
        self("WebDriver:Navigate", {"url": address})

    def run(self, script):
        return self("WebDriver:ExecuteScript", {"script": script, "args": []})["value"]

    def until(self, script):
        for _ in range(300):
            if self.run(script):
                return
            time.sleep(0.2)
        raise TimeoutError(script)


@pytest.fixture(scope="module")
def firefox(tmp_path_factory):
    need("firefox")
    profile = tmp_path_factory.mktemp("profile")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (profile / "user.js").write_text(f'user_pref("marionette.port", {port});\n')
    command = [FIREFOX, "--headless", "--marionette", "--no-remote", "--profile", str(profile)]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={"HOME": str(profile)}
    )
    try:
        yield Marionette(port)
    finally:
        process.terminate()
        process.wait(30)


def test_the_site_works_in_firefox(firefox, tmp_path):
    index = write_five(tmp_path)
    for path in [index, *sorted((index.parent / PAGES).glob("*.html"))]:
        firefox.open(path.as_uri())
        assert firefox.run("return document.documentElement.scrollWidth <= innerWidth"), path.name
        assert firefox.run("return document.querySelectorAll('main script, main img[src=x]').length") == 0, path.name
    firefox.open(index.as_uri())
    assert firefox.run("return document.querySelector('h1').innerText").startswith("Bias found in ")
    said = firefox.run("return [...document.querySelectorAll('.grid tbody td')].map((cell) => cell.innerText)")
    assert said[3:] == ["No result"] * 2
    firefox.run("document.querySelector('.grid td a').click()")
    assert firefox.run("return document.querySelector('.front circle').getBoundingClientRect().width") > 5
    firefox.open((index.parent / PAGES / "numbers.html").as_uri())
    assert firefox.run("return document.querySelectorAll('#matrix tbody .cell a[href] .strip circle').length") == 3
    firefox.open((index.parent / PAGES / "compare.html").as_uri())
    firefox.until("return document.querySelectorAll('.front tbody tr:not([hidden])').length > 0")
    firefox.open((index.parent / PAGES / "items.html").as_uri())
    firefox.until("return document.querySelector('#dismiss').offsetParent || document.body.dataset.ready !== undefined")
    firefox.run("document.querySelector('#dismiss').click()")
    firefox.until(f"return document.querySelectorAll('#grid tbody a').length >= {COUNT // 2}")
    firefox.run("document.querySelector('#grid tbody a').click()")
    firefox.until("return document.querySelector('#item h2')")
