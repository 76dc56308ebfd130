"""The site in a real browser, on models, items and answers that attack whatever shows them."""

import json
import math

import pandas as pd
import pytest
from axe_playwright_python.sync_playwright import Axe
from browser import browsing
from test_site import CARD, HOSTILE

from biasatlas.benchmarks.comparisons.pairs import KEYS
from biasatlas.benchmarks.registry import load_spec
from biasatlas.benchmarks.shared.styles import styles
from biasatlas.files import write_items, write_requests, write_responses, write_scores, write_task_scores
from biasatlas.report.run import Comparison, ModelRun, Run, Study, TaskRun
from biasatlas.report.site import PAGES, Site

#: Names that a configuration may give to models, and that Vega or a careless script stumbles over.
MODELS = ["constructor", "toString", "plain"]
SPEC = load_spec("crows_pairs")
#: The pairs of the first model all go one way, those of the second the other way in half.
COUNT = 2 * len(HOSTILE)
#: What the answers of the model "plain" took.
TOOK = {"calls": 40, "failed": 6, "prompt_tokens": 900, "completion_tokens": 34, "cost": 0.25, "currency": "USD"}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A site of three models that chose between hostile sentences; the path of its index."""
    return write_site(tmp_path_factory.mktemp("hostile"), MODELS, [*HOSTILE, *reversed(HOSTILE)])


def write_site(folder, models, texts, lost=(), unparsed=()):
    """A site of ``models`` that chose between sentences with each of ``texts``, but for those ``lost``, who always
    refused, and those ``unparsed``, of whose replies none could be parsed."""
    count = len(texts)
    items = pd.DataFrame({"item_id": [str(n) for n in range(count)], "category": "age", "direction": "stereo"})
    items = items.assign(writer="w", more=[f"the {t} man" for t in texts], less=[f"the {t} woman" for t in texts])
    write_items(items, folder / "items.parquet", SPEC.items, {})
    messages = [json.dumps([{"role": HOSTILE[0], "content": text}]) for text in texts]
    requests = pd.DataFrame({"request_id": items["item_id"] + "/0", "item_id": items["item_id"], "kind": "choice"})
    requests = requests.assign(messages=messages, labels='["A", "<b>"]', order='["more", "less"]', repeats=1, prefix="")
    write_requests(requests, folder / "requests.parquet", SPEC.tasks["pair_choice"].requests)
    answers, rows = [], []
    for place, model in enumerate(models):
        shares = [0.9 if place == 0 or n % 2 else 0.2 for n in range(count)]
        every = "refused" if model in lost else "unparseable" if model in unparsed else "ok"
        statuses = ["refused" if n == 5 else every for n in range(count)]
        responses = pd.DataFrame(
            {"request_id": requests["request_id"], "repeat": 0, "status": statuses, "detail": HOSTILE[1]}
        )
        masses = [json.dumps([p, 1 - p]) for p in shares]
        replies = [json.dumps([["ok", text]]) for text in texts]
        responses = responses.assign(
            probabilities=masses, refused=0.0, ambiguous=0.0, unparseable=0.0, unresolved=0.0, replies=replies
        )
        path = folder / f"{model}.parquet"
        write_responses({"pair_choice": (responses, "choice", TOOK if model == "plain" else {})}, path)
        scores = items[["item_id", "direction", "writer"]].assign(
            status=statuses, stereotyped=shares, tie=0.0, more=shares
        )
        scores = scores.assign(less=1 - scores["more"], refused=0.0, ambiguous=0.0, unparseable=0.0, unresolved=0.0)
        scores = scores.reindex(columns=list(SPEC.tasks["pair_choice"].scores))
        keys = {"model": model, "task": "pair_choice", "category": "age"}
        write_scores(scores, folder / f"{model}.csv", SPEC.tasks["pair_choice"].scores, **keys)
        answers.append(ModelRun(model, scored := str(folder / f"{model}.scores.parquet"), str(path)))
        write_task_scores([folder / f"{model}.csv"], scored, {"model": {"engine": HOSTILE[3]}, "requests_sha256": "a"})
        for category, value in (("overall", 60 + place), (HOSTILE[0], 40)):
            value = math.nan if model in (*lost, *unparsed) else value
            numbers = {"value": value, "ci_low": value - 4, "ci_high": value + 4, "n": count, "n_clusters": 9}
            rows.append(
                {"model": model, "category": category, "direction": "all", "metric": "stereotype_score"} | numbers
            )
    left = dict.fromkeys(
        ("refused", "filtered", "thought", "ambiguous", "unparseable", "truncated", "failed", "not_applicable"), 0
    )
    table = pd.DataFrame(rows).assign(no_interval_reason=None, **left, unparsed=0.0, published="60", difference=0.5)
    table.loc[table["model"].isin([*lost, *unparsed]), ["refused", "n", "unparsed"]] = [count, 0, 100.0]
    table.to_csv(folder / "prompted.csv", index=False)
    run = Run(
        *("crows_pairs", "recommended", "crows_pairs", "sample", [HOSTILE[0]]),
        tables={"prompted": str(folder / "prompted.csv")},
        figures={},
        items=str(folder / "items.parquet"),
        asked=[TaskRun("pair_choice", str(folder / "requests.parquet"), answers)],
    )
    said = {
        "benchmark": "crows_pairs",
        "measure": "stereotype_score",
        "part": "pair_choice",
        "unit": "%",
        "neutral": 50.0,
        "smallest": 5.0,
        "verdict": "biased",
        "why": HOSTILE[0],
    }
    judged = table.drop(columns=["direction"]).assign(**said, metric="value").dropna(subset="value")
    judged["item"] = "3"
    middle = judged.assign(metric="median_item", value=30.0, n=12)
    pd.concat([judged, middle]).to_csv(folder / "findings.csv", index=False)
    pairs = [
        judged[(judged["model"] == one) & (judged["category"] == "overall")].assign(
            other_model=other,
            metric="difference",
            value=6.0 - 6 * place,
            ci_low=5.5 - 6 * place,
            ci_high=6.5 - 6 * place,
            n=count,
        )
        for place, one in enumerate(models)
        for other in models[place + 1 :]
    ]
    if any(map(len, pairs)):
        pd.concat(pairs)[[*KEYS, "metric", "value", "ci_low", "ci_high", "n"]].to_csv(folder / "pairs.csv", index=False)
    compared = [
        Comparison("table", "recommended", name, name, str(folder / f"{name}.csv"))
        for name in ("findings", "pairs")
        if (folder / f"{name}.csv").exists()
    ]
    entries = {model: {"kind": "hf", "source": HOSTILE[0], "revision": "1"} for model in models}
    card = CARD | {"benchmark": "crows_pairs", "metric": "stereotype_score", "of": "pair_choice, overall"}
    told = {"benchmark": "crows_pairs", "measure": "stereotype_score", "part": "pair_choice", "category": "overall"}
    away = [
        {"model": m, **told, "item": str(n), "away": 10.0 + (n % 2 or -1) * (n + 1)}
        for m in models
        for n in range(count)
    ]
    pd.DataFrame(away).to_parquet(folder / "adds.parquet")
    study = Study(
        *([run], entries, compared, {"plain": [TOOK]} if "plain" in models else {}, [HOSTILE[0]], [card]),
        contributions={"recommended": str(folder / "adds.parquet")},
        version=HOSTILE[3],
        date="2026-01-01",
    )
    Site(study, styles(models), folder / "report" / PAGES).write(folder / "report" / "index.html")
    return folder / "report" / "index.html"


@pytest.fixture(scope="module")
def visitor(site):
    """One browser for all tests here."""
    with browsing(viewport={"width": 1280, "height": 900}, color_scheme="light", accept_downloads=True) as visitor:
        yield visitor


@pytest.fixture(autouse=True)
def nothing_amiss(visitor):
    """No script of another's runs, nothing leaves the disk, the console stays empty."""
    visitor.noticed.clear()
    yield
    assert visitor.noticed == []
    assert visitor.page.evaluate("document.querySelectorAll('main script, main img[src=x], main iframe').length") == 0


def names(page):
    return page.locator("#matrix tbody .name a").all_inner_texts()


def test_the_matrix_sorts_and_filters(visitor, site):
    page = visitor.page
    visitor.open(site.parent / PAGES / "numbers.html")
    assert names(page) == MODELS
    head = page.locator("#matrix thead tr").nth(1).locator("th").first
    for order in ("ascending", "descending"):
        head.click()
        page.wait_for_selector(f"#matrix th[aria-sort={order}]")
    assert names(page) == MODELS[::-1]
    page.fill("#find", "const")
    assert names(page) == ["constructor"]
    page.fill("#find", "")
    page.select_option("#state", "unbiased")
    assert names(page) == []


def test_a_link_reopens_the_view_of_the_matrix(visitor, site):
    page = visitor.page
    visitor.open(site.parent / PAGES / "numbers.html")
    page.locator("#matrix thead tr").nth(1).locator("th").first.click()
    page.check("#scale-effect")
    page.fill("#find", "to")
    link = page.evaluate("location.href")
    page.goto("about:blank")
    page.goto(link)
    page.wait_for_selector("#matrix th[aria-sort=ascending]")
    assert names(page) == ["constructor", "toString"]
    assert page.locator("#matrix td").first.inner_text().split() == ["biased:", "+2.0"]


def test_two_models_are_compared(visitor, site):
    page = visitor.page
    visitor.open(site.parent / PAGES / "numbers.html")
    for box in page.locator(".pick").all()[:2]:
        box.check()
    assert page.inner_text("#shown") == "3 models, 2 ticked"
    page.click("#compare")
    page.wait_for_selector("#pair tbody tr")
    assert "exactly the same requests" in page.inner_text("#asked")
    page.click("#pair tbody a:text('that differ')")
    page.wait_for_selector("#dismiss, #grid tbody tr a")


def test_all_models_are_compared_with_the_chosen_one(visitor, site):
    page = visitor.page
    visitor.open(site.parent / PAGES / "compare.html")
    rows = page.locator("#differences tbody tr")
    rows.first.wait_for()
    # The first less another is 6 where 5 matter: the others lie below it, by as much.
    assert [text.split("\n")[0].split("\t")[0] for text in rows.all_inner_texts()] == MODELS[1:]
    assert all("Differ −6 points −6.5 to −5.5" in " ".join(text.split()) for text in rows.all_inner_texts())
    # So says the table of the two below.
    assert page.locator("#pair tbody tr td").nth(5).inner_text() == "−6.00 [−6.50 to −5.50]"
    # A model below the other may be the more biased of the two, against the stereotype.
    assert page.inner_text("#differences .axis").split("\n") == ["lower", "alike", "higher"]
    assert "Lower: towards “against the stereotype”." in page.inner_text("#differences thead")
    page.select_option("#a", "m1")
    assert " 6 points" in rows.first.inner_text() and " 0 points" in rows.nth(1).inner_text()
    assert rows.nth(1).locator(".strip > line").get_attribute("x1") == "47.6%"  # -0.1 of 2, though the value is 0
    assert rows.first.locator("circle").get_attribute("cx") == "78.8%"  # 1.2 of 2
    rows.first.locator("td > a").click()
    visitor.ready()
    assert "sort=gap" in page.url and "b=m1" in page.url


def test_the_items_behind_a_headline_stand_in_the_order_of_what_they_add(visitor, site):
    page = visitor.page
    visitor.open(site)
    page.click(".grid td a >> nth=0")
    page.locator("tr:target a").click()
    visitor.ready()
    assert page.input_value("#sort") == "adds" and "of=" in page.url
    # Odd items lie as far above 10 as even ones do below it, and one further.
    assert "on average 10.5 over the items; the headline has 10" in page.inner_text("#told")
    shown = [float(text.replace("−", "-")) for text in page.locator("#grid tbody td:first-child").all_inner_texts()]
    assert shown == sorted(shown, key=abs, reverse=True) and shown[0] == 10.0 + COUNT
    page.select_option("#sort", "size")
    assert page.inner_text("#told").startswith(f"{COUNT} of {COUNT} rows")


def test_data_and_cost_say_what_was_asked_and_paid(visitor, site):
    page = visitor.page
    visitor.open(site.parent / PAGES / "data.html")
    assert f"{COUNT // 2} of {COUNT} items are there twice, in the same words: " in page.inner_text("main")
    assert f"{COUNT} requests per model" in page.inner_text("main")
    visitor.open(site.parent / PAGES / "cost.html")
    assert page.inner_text(".lead").strip() == "plain: 0.25 USD for 40 calls, 6 of them failed."
    rows = page.locator("tbody tr").all_inner_texts()
    assert rows[0].split() == ["constructor", "CrowS-Pairs", str(COUNT), str(COUNT)]
    assert rows[2].split()[2:] == [str(COUNT), str(COUNT), "40", "6", "900", "34", "0.25", "USD"]


def test_the_first_page_shows_the_median_item_and_leads_to_it(visitor, site):
    page = visitor.page
    visitor.open(site)
    line = page.locator("li", has_text="ypical").last
    assert f"the {HOSTILE[3]} man" in line.inner_text() and "30.0 points" in line.inner_text()
    line.locator("[href*=items]").last.click()
    visitor.ready()
    page.wait_for_selector("#item h2")
    assert page.inner_text("#item h2") == "3"


def test_every_page_is_calm(visitor, site):
    for path in sorted((site.parent / PAGES).glob("*.html")):
        visitor.open(path)
        visitor.page.wait_for_load_state("networkidle")
        for chart in visitor.page.locator("[data-chart]").all():
            chart.scroll_into_view_if_needed()
            chart.locator("svg").first.wait_for()
        for details in visitor.page.locator("main details > summary").all():
            details.click()


def test_items_are_found_opened_and_linked(visitor, site):
    page = visitor.page
    visitor.explore(site.parent / PAGES, "#set=crows_pairs.recommended.pair_choice&a=m0&b=m1")
    assert page.inner_text("#told").startswith(f"{COUNT} of {COUNT} rows")
    page.check("#flips")
    flipped = page.inner_text("#told")
    assert flipped.startswith(f"{COUNT // 2} of"), flipped
    page.uncheck("#flips")
    page.fill("#find", "onerror")
    page.wait_for_selector("#told:text-matches('^2 of')")
    page.locator("#grid tbody a").first.click()
    page.wait_for_selector("#item h2")
    shown = page.inner_text("#item")
    assert HOSTILE[3] in shown and "constructor" in shown and "toString" in shown
    assert "A 0.9" in shown.replace("\n", " ")
    link = page.evaluate("location.href")
    title = page.inner_text("#item h2")
    visitor.open(site)
    visitor.page.goto("about:blank")
    visitor.page.goto(link)
    page.wait_for_selector("#item h2")
    assert page.inner_text("#item h2") == title
    assert page.input_value("#find") == "onerror"


def test_statuses_are_filtered_and_scores_sorted(visitor, site):
    page = visitor.page
    visitor.explore(site.parent / PAGES, "#set=crows_pairs.recommended.pair_choice&a=m1&status=refused")
    assert page.inner_text("#told").startswith("1 of")
    assert "refused" in page.inner_text("#grid tbody")
    visitor.explore(site.parent / PAGES, "#set=crows_pairs.recommended.pair_choice&a=m1&sort=low")
    assert page.locator("#grid tbody a").first.inner_text() == "−0.6000"


def test_an_item_is_opened_and_closed_with_the_keyboard_and_back_returns(visitor, site):
    page = visitor.page
    visitor.explore(site.parent / PAGES, "#set=crows_pairs.recommended.pair_choice&a=m0&sort=size")
    listed = page.evaluate("location.hash")
    page.focus("#model-b")
    page.select_option("#model-b", "m1")
    page.wait_for_selector("#flips")
    assert page.evaluate("document.activeElement.id") == "model-b"
    page.locator("#grid tbody a").first.focus()
    page.keyboard.press("ArrowDown")
    row = page.evaluate("document.activeElement.closest('tr').dataset.row")
    page.keyboard.press("Enter")
    page.wait_for_selector("#item:focus")
    page.locator("#item button:text('Next')").press("Enter")
    page.wait_for_selector("#item button:text('Next'):focus")
    page.keyboard.press("Escape")
    assert not page.locator("#item").is_visible()
    assert int(page.evaluate("document.activeElement.closest('tr').dataset.row")) != int(row)
    page.focus(".skip")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main" and "b=m1" in page.evaluate("location.hash")
    for _ in range(3):  # the item, the list of two models, that of one
        page.go_back()
    page.wait_for_function("told => location.hash === told", arg=listed)
    page.wait_for_selector("#flips", state="detached")


def test_what_cannot_be_seen_is_shown_in_the_page(visitor, site):
    visitor.explore(site.parent / PAGES, "#set=crows_pairs.recommended.pair_choice&a=m0&q=evil")
    assert "[U+202E]evil" in visitor.page.inner_text("#grid tbody")


def test_exports_come_as_files(visitor, site, tmp_path):
    page = visitor.page
    visitor.open(site.parent / PAGES / "crows_pairs.recommended.html")
    page.locator("[data-chart] svg").first.wait_for()
    for kind, start in (("svg", b"<svg"), ("png", b"\x89PNG")):
        with page.expect_download() as waiting:
            page.click(f"[data-as={kind}]")
        waiting.value.save_as(tmp_path / kind)
        assert (tmp_path / kind).read_bytes().startswith(start)
    assert b"<text" in (tmp_path / "svg").read_bytes()
    page.click("#table-prompted summary")
    for ending in ("csv", "md", "tex", "json"):
        link = page.locator(f"#table-prompted a[href$='.{ending}']")
        assert (site.parent / PAGES / link.get_attribute("href")).stat().st_size > 100


def test_the_theme_is_kept_and_a_phone_does_not_scroll_sideways(visitor, site):
    page = visitor.page
    visitor.open(site)
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 29)"
    page.set_viewport_size({"width": 360, "height": 740})
    for path in [site, *sorted((site.parent / PAGES).glob("*.html"))]:
        visitor.open(path)
        page.wait_for_load_state("networkidle")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, path.name
    assert page.evaluate("document.documentElement.className") == "dark"
    page.set_viewport_size({"width": 1280, "height": 900})


def test_axe_finds_nothing(visitor, site):
    pages = [site, *sorted((site.parent / PAGES).glob("*.html"))]
    assert [barrier for path in pages for barrier in visitor.barriers(path)] == []


def test_the_first_page_shows_every_model_on_one_scale(visitor, site):
    page = visitor.page
    visitor.open(site)
    assert page.inner_text("h1").startswith("Bias found in ")
    page.click("#sizes > summary")
    assert page.locator(".front [scope=row]").all_inner_texts() == MODELS
    row = page.locator(".front tbody tr[id]").first
    # 60 of 100 where 50 is neutral and 5 matter: two on a scale of four to either side, 48% of the width each.
    assert "10.0 points with the stereotype\tBiased" in row.inner_text()
    assert f": {COUNT} pairs in 9 sets." in page.inner_text(".front [scope=rowgroup]")
    assert row.locator("circle").get_attribute("cx") == "74.0%"


@pytest.mark.parametrize("media", ["screen", "print"])
def test_fifteen_topics_of_few_models_stand_beside_each_other(visitor, site, media):
    page = visitor.page
    visitor.open(site)
    page.evaluate("""() => {
      const grid = document.querySelector(".grid");
      grid.classList.add("many");
      for (const row of grid.rows) for (let n = 1; n < 15; n += 1) row.append(row.lastElementChild.cloneNode(true));
    }""")
    page.emulate_media(media=media)
    page.set_viewport_size({"width": 1280 if media == "screen" else 720, "height": 900})
    beyond = page.evaluate("""() => [...document.querySelectorAll(".grid td > a > :is(b, strong, span)")].filter((part) => {
      const range = document.createRange();
      range.selectNodeContents(part);
      return range.getBoundingClientRect().right > part.closest("td").getBoundingClientRect().right + 1;
    }).map((part) => part.textContent)""")
    assert beyond == []
    assert media == "screen" or page.evaluate("document.documentElement.scrollWidth") <= 720
    page.emulate_media(media="screen")
    page.set_viewport_size({"width": 1280, "height": 900})


def test_a_cell_of_the_grid_opens_the_row_that_says_the_same(visitor, site):
    page = visitor.page
    visitor.open(site)
    cells = page.locator(".grid tbody td")
    assert cells.all_inner_texts() == [
        f"Biased\nIt chooses the stereotype\n{10 + n}.0 points\nmore often than half of the time\n"
        f"95%: {6 + n}.0 to {14 + n}.0"
        for n in range(3)
    ]
    assert not page.locator("#sizes table").is_visible()
    cells.nth(1).locator("a").click()
    row = page.locator("tr:target")
    row.locator("a").wait_for()
    assert "toString" in row.inner_text() and "11.0 points with the stereotype" in row.inner_text()


def test_numbers_and_first_page_read_without_script(visitor, site):
    context = visitor.page.context.browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site.as_uri())
    assert "10.0 points" in page.inner_text(".grid") and "Biased" in page.inner_text(".grid")
    page.goto((site.parent / PAGES / "numbers.html").as_uri())
    assert "biased" in page.inner_text("#matrix") and "60.0" in page.inner_text("#matrix")
    assert not page.locator("#find").is_visible()
    context.close()


#: One of them refuses everything, another writes nothing that can be read.
FIVE = [*MODELS, "lost", "unparsed"]


def write_five(folder):
    return write_site(folder, FIVE, HOSTILE, lost=["lost"], unparsed=["unparsed"])


def test_five_models_of_which_two_have_no_result(visitor, tmp_path):
    index = write_five(tmp_path)
    page = visitor.page
    visitor.open(index)
    assert HOSTILE[0] in "".join(page.locator(".note").all_inner_texts())  # a job of the run failed
    assert page.locator(".grid tbody th").all_inner_texts() == FIVE
    assert page.locator(".grid tbody td").all_inner_texts()[3:] == ["No result"] * 2
    for width in (1400, 820, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert visitor.barriers(index) == []
    visitor.open(index.parent / PAGES / "numbers.html")
    cells = [row.split("\t")[1].strip() for row in page.locator("#matrix tbody tr").all_inner_texts()]
    assert cells[3:] == ["no answer has a value: refused"] * 2
    page.select_option("#state", "biased")
    assert names(page) == FIVE[:3]
    visitor.open(index.parent / PAGES / "compare.html", "#a=m0&b=m4")
    page.wait_for_selector("#pair tbody tr")
    visitor.explore(index.parent / PAGES, "#set=crows_pairs.recommended.pair_choice&a=m4&b=m3")
    page.locator("#grid tbody a").first.click()
    page.wait_for_selector("#item h2")
    assert "unparseable" in page.inner_text("#item") and "refused" in page.inner_text("#item")


def test_seventeen_models_stand_in_one_table_in_any_order(visitor, tmp_path):
    models = [*MODELS, *(f"a-model-with-a-long-name-{n}" for n in range(12)), f"as-long-as-may-be-{'0' * 82}", "lost"]
    index = write_site(tmp_path, models, HOSTILE, lost=["lost"])
    page = visitor.page
    visitor.open(index)
    assert "17 models, 1 topic: 17 results, 16 biased, 1 without a result" in page.inner_text("main")
    rows = page.locator(".grid tbody th a")
    assert rows.all_inner_texts() == models
    page.select_option("#order", "0")
    assert rows.all_inner_texts() == [*models[15::-1], "lost"]
    page.reload()
    assert rows.first.inner_text() == models[15]
    page.click(".grid td.missing a")
    assert "No result no answer has a value: refused" in page.locator("tr:target").inner_text()
    for path in [index, *(index.parent / PAGES).glob("*.html")]:
        assert path.stat().st_size < 150_000, path.name
    assert [v["id"] for v in Axe().run(page, options={"preload": False}).response["violations"]] == []
    page.set_viewport_size({"width": 390, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for name in ("compare", "numbers", "cost", "crows_pairs.recommended", f"model-{models[-2]}"):
        visitor.open(index.parent / PAGES / f"{name}.html")
        page.wait_for_load_state("networkidle")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
    page.set_viewport_size({"width": 1280, "height": 900})


#: One model without a single value on one item: what is in no other site.
ALONE = ["<i>one</i>"]
LONG = "ab " * 20_000 + "\u0645\u0631\u062d\u0628\u0627 \u05e9\u05dc\u05d5\u05dd"


def test_one_model_without_values_on_one_endless_item(visitor, tmp_path):
    index = write_site(tmp_path, ALONE, [LONG], lost=ALONE)
    page = visitor.page
    visitor.open(index)
    assert "No result" in page.inner_text(".grid") and "value: refused" in page.text_content(".front")
    visitor.open(index.parent / PAGES / "numbers.html")
    assert "nothing measured" in page.inner_text(".lead") and "no value for any model" in page.inner_text("main")
    for path in sorted((index.parent / PAGES).glob("*.html")):
        visitor.open(path)
        page.wait_for_load_state("networkidle")
    visitor.open(index.parent / PAGES / "compare.html")
    assert "nothing to compare it with" in page.inner_text("main")
    visitor.explore(index.parent / PAGES, "#set=crows_pairs.recommended.pair_choice&a=m0")
    page.locator("#grid tbody a").first.click()
    page.wait_for_selector("#item h2")
    assert "\u0645\u0631\u062d\u0628\u0627" in page.inner_text("#item") and "refused" in page.inner_text("#item")
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
