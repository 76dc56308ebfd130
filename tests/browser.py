"""A real browser for the pages: Debian's Chromium, driven by Playwright, told to report all that goes wrong."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from needs import CHROMIUM, need
from playwright import sync_api


class Visitor:
    """One page of a browser, and what it noticed: messages of the console, errors, dialogs, requests that leave the disk."""

    def __init__(self, page):
        self.page, self.noticed = page, []
        page.on("console", lambda message: message.type in ("error", "warning") and self.noticed.append(message.text))
        page.on("pageerror", lambda error: self.noticed.append(str(error)))
        page.on("dialog", lambda dialog: (self.noticed.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda asked: self._request(asked.url))

    def _request(self, url: str) -> None:
        if not url.startswith(("file:", "data:", "blob:")):
            self.noticed.append(f"request {url}")

    def open(self, path: Path, fragment: str = "") -> None:
        """Open a page of the site, from disk."""
        # A change after # alone would not load the page again.
        self.page.goto("about:blank")
        self.page.goto(path.as_uri() + fragment)

    def explore(self, pages: Path, fragment: str) -> None:
        """Open the explorer, and wait until it shows what ``fragment`` asks for."""
        self.open(pages / "items.html", fragment)
        self.ready()

    def ready(self) -> None:
        """Wait until the explorer shows what it was asked for."""
        self.page.wait_for_selector("#dismiss:visible, body[data-ready] #grid")
        if self.page.locator("#dismiss").is_visible():
            self.page.click("#dismiss")
        self.page.wait_for_selector("body[data-ready]", timeout=30_000)
        self.page.wait_for_selector("#grid tbody tr a, #grid .dt-empty")


@contextlib.contextmanager
def browsing(**context: object) -> Iterator[Visitor]:
    """A visitor; skips the test, saying why, where there is no browser."""
    need("chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield Visitor(browser.new_context(**context).new_page())
        browser.close()
