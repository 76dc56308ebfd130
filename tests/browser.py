"""A real browser for the pages: Debian's Chromium, driven by Playwright; it reports everything that goes wrong."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from needs import CHROMIUM, need
from playwright import sync_api

#: Axe's rules about colours.
_OF_COLOURS = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}


class Visitor:
    """One page of a browser, and what it noticed: console messages, errors, dialogs, requests beyond the disk."""

    def __init__(self, page):
        self.page, self.noticed, self._axe = page, [], Axe()
        page.on("console", lambda message: message.type in ("error", "warning") and self.noticed.append(message.text))
        page.on("pageerror", lambda error: self.noticed.append(str(error)))
        page.on("dialog", lambda dialog: (self.noticed.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda asked: self._request(asked.url))

    def _request(self, url: str) -> None:
        if not url.startswith(("file:", "data:", "blob:")):
            self.noticed.append(f"request {url}")

    def open(self, path: Path, fragment: str = "") -> None:
        """Open a page of the site, from disk."""
        # A change of only the part after # would not reload the page.
        self.page.goto("about:blank")
        self.page.goto(path.as_uri() + fragment)

    def explore(self, pages: Path, fragment: str) -> None:
        """Open the explorer, and wait until it shows what ``fragment`` asks for."""
        self.open(pages / "items.html", fragment)
        self.ready()

    def barriers(self, path: Path) -> list[tuple[str, str, str, str]]:
        """What axe finds on a page in six views, the last with all folds opened by key: (page, view, rule, element)."""
        found: list[tuple[str, str, str, str]] = []

        def check(view: str, **options: object) -> None:
            asked = {"preload": False, "reporter": "no-passes"} | options
            for v in self.page.evaluate("asked => axe.run(asked)", asked)["violations"]:
                found.append((path.name, view, v["id"], v["nodes"][0]["html"][:200]))

        self.open(path)
        self.page.wait_for_load_state("networkidle")
        self.page.evaluate(self._axe.axe_script)
        for chart in self.page.locator("[data-chart]").all():
            chart.scroll_into_view_if_needed()
            chart.locator("svg").first.wait_for()
        for width in (390, 1280):
            self.page.set_viewport_size({"width": width, "height": 900})
            self.page.evaluate("new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
            # The dark scheme has the same elements in the same places, so only its colours are checked.
            self.page.emulate_media(color_scheme="dark")
            check(f"{width} dark", runOnly=_OF_COLOURS)
            self.page.emulate_media(color_scheme="light")
            check(f"{width} light")
        self.page.emulate_media(media="print")
        check("print")
        self.page.emulate_media(media="screen")
        for fold in self.page.locator("main summary:visible").all():
            fold.press("Enter")
        check("open")
        return found

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
