"""The page in a real browser: found, added, completed, explained, undone; on a phone, by keys, in the dark, offline.

Needs Chromium (Debian: `apt-get install chromium`) and the packages playwright, fastapi and uvicorn.
"""

# ruff: noqa: RUF001

from __future__ import annotations

import io
import json
import os
import re
import shutil
import socket
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cooccur.drawing import place_labels
from cooccur.maps import Map
from cooccur.models import make_model
from cooccur.synthetic import planted_shop

CHROMIUM = os.environ.get("CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
if CHROMIUM is None:
    pytest.skip(
        "no Chromium here; `apt-get install chromium` brings one, or name it in CHROMIUM", allow_module_level=True
    )
sync_api = pytest.importorskip("playwright.sync_api", reason="the page's tests need playwright: pip install playwright")
uvicorn = pytest.importorskip("uvicorn", reason="the page's tests need a server: pip install 'cooccur[serve]'")
pytest.importorskip("fastapi", reason="the page's tests need a server: pip install 'cooccur[serve]'")
from cooccur.evaluation.card import measure  # noqa: E402
from cooccur.serve.app import create_app  # noqa: E402

FLAGS = [
    "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]  # fmt: skip
SPECS = {"dem": "dem:hidden=8,epochs=2,pairs=learned", "scores": "lwcvg", "flat": "popularity"}
HOSTILE = "<img src=x onerror=alert(1)>"
PHONE = {"width": 390, "height": 844}
Page = Any
Opened = Callable[..., Page]


@contextmanager
def serving(app: Any) -> Iterator[str]:
    """The origin of a service on a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [free]}, daemon=True)
        thread.start()
        origin = f"http://127.0.0.1:{free.getsockname()[1]}"
        try:
            for _ in range(600):
                with suppress(OSError), urllib.request.urlopen(f"{origin}/readyz", timeout=300):
                    break  # the model is loaded; until then it is 503, an HTTPError, which is an OSError
                time.sleep(0.1)
            yield origin
        finally:
            server.should_exit = True
            thread.join(10)


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Three models of the planted shop: with probabilities and reasons, with scores only, without a map."""
    folder = tmp_path_factory.mktemp("models")
    baskets = planted_shop().sample(1500, seed=1, sweeps=20)
    titles = {item: (item.capitalize(), "ABC"[number % 3]) for number, item in enumerate(baskets.items)}
    titles["batteries"] = (HOSTILE, "A")
    found, running = {}, []
    for name, spec in SPECS.items():
        model = make_model(spec).fit(baskets)
        if name == "dem":
            model.notes_ = measure(spec, baskets)
        model.save(folder / f"{name}.model")
        running.append(serving(create_app(folder / f"{name}.model", titles=titles)))
        found[name] = running[-1].__enter__()
    yield found
    for one in running:
        one.__exit__(None, None, None)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as play:
        started = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def opened(browser: Any, services: dict[str, str]) -> Iterator[Opened]:
    """Opens the page of a service; at the end nothing was asked of anybody else, and the console is clean."""
    contexts, asked, complaints = [], [], []

    def open_(service: str = "dem", path: str = "/", ready: bool = True, quiet: bool = True, **options: Any) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("request", lambda request: asked.append((services[service], request.url)))
        if quiet:
            page.on("console", lambda said: complaints.append(said.text) if said.type != "log" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        for pattern, answer in options.pop("routes", {}).items():
            page.route(pattern, answer)
        page.goto(services[service] + path)
        if ready:
            page.wait_for_selector("#list .main-row")
        return page

    yield open_
    for context in contexts:
        context.close()
    assert complaints == []
    assert [url for origin, url in asked if not url.startswith((origin + "/", "data:"))] == []


def suggestions(page: Page) -> list[str]:
    found: list[str] = page.locator("#list .name").evaluate_all("all => all.map((one) => one.firstChild.textContent)")
    return found


def chips(page: Page) -> list[str]:
    found: list[str] = page.locator("#chips .name").all_inner_texts()
    return found


def until(page: Page, expression: str) -> None:
    """Wait for something in the page; `wait_for_function` would need an eval, which the page's policy forbids."""
    for _ in range(1000):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(20)
    raise AssertionError(f"never came true: {expression}")


def settled(page: Page, act: Callable[[], Any], answer: str = "/complete") -> None:
    """Do something, and wait until the page has drawn the service's answer to it."""
    with page.expect_response(lambda response: answer in response.url):
        act()
    page.wait_for_selector(".why:visible" if answer == "/explain" else "#list[aria-busy=false]")


def add(page: Page, name: str) -> None:
    page.fill("#search", name)
    page.locator("#options [role=option]", has_text=re.compile(name, re.I)).first.wait_for()
    settled(page, lambda: page.press("#search", "Enter"))


def mapped(page: Page) -> Page:
    page.wait_for_selector("#map[data-state=shown]", timeout=30_000, state="attached")
    until(page, "document.querySelector('#map').itemMap.shown?.length > 0")
    return page


def view(page: Page) -> dict[str, float]:
    until(page, "!document.querySelector('#map').itemMap.flight")
    found: dict[str, float] = page.evaluate("({ ...document.querySelector('#map').itemMap.view })")
    return found


# -- the way through ----------------------------------------------------------------------------------


def test_find_add_complete_explain_add_undo(opened: Opened) -> None:
    page = opened()
    assert chips(page) == []
    assert page.inner_text("#title") == "Most likely by themselves"
    add(page, "pasta")
    before = suggestions(page)
    assert page.inner_text("#title") == "What is missing"
    add(page, "parmesan")
    assert chips(page) == ["Pasta", "Parmesan"]
    assert suggestions(page) != before
    assert not {"Pasta", "Parmesan"} & set(suggestions(page))
    assert all(re.fullmatch(r"[\d.]+ %", value) for value in page.locator("#list .value").all_inner_texts())
    widths = page.locator("#list .bar i").evaluate_all("bars => bars.map((bar) => parseFloat(bar.style.width))")
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > widths[-1] > 0

    first = page.locator("#list .main-row").first
    name = suggestions(page)[0]
    settled(page, first.click, "/explain")
    assert first.get_attribute("aria-expanded") == "true"
    why = page.locator(".why:visible")
    parts = dict(zip(why.locator("dt").all_inner_texts(), why.locator("dd b").all_inner_texts(), strict=True))
    number = {part: float(value.replace("−", "-")) for part, value in parts.items()}
    assert {"by itself", "Pasta", "Parmesan", "the items together"} <= number.keys()
    score = float(why.locator(".sum b").first.inner_text().replace("−", "-"))
    inside = {part for part in number if part.startswith("of it through")}
    assert sum(value for part, value in number.items() if part not in inside) == pytest.approx(score, abs=0.03)
    assert f"{100 / (1 + np.exp(-score)):.0f}" == why.locator(".sum b").nth(1).inner_text().removesuffix(" %")

    settled(page, why.get_by_text("Add to the basket").click)
    assert chips(page) == ["Pasta", "Parmesan", name]
    settled(page, page.locator("#undo").click)
    assert chips(page) == ["Pasta", "Parmesan"]
    assert suggestions(page)[0] == name
    settled(page, page.get_by_label("Take Parmesan out").click)
    assert suggestions(page) == before


def test_people_also_have(opened: Opened) -> None:
    page = opened(path="/#i=pasta&i=milk")
    settled(page, page.locator("#chips .name").first.click, "/similar")
    assert page.inner_text("#title") == "People who have Pasta also have"
    assert suggestions(page)[0] == "Pasta sauce"
    settled(page, page.locator("#back").click)
    assert page.inner_text("#title") == "What is missing"


def test_keyboard_only(opened: Opened) -> None:
    page = opened()
    press = page.keyboard.press
    press("/")
    page.keyboard.type("pas")
    page.wait_for_selector("#options [aria-selected=true]")
    names = page.locator("#options .name").all_inner_texts()
    press("ArrowDown")
    assert page.get_attribute("#search", "aria-activedescendant") == "option-1"
    settled(page, lambda: press("Enter"))
    assert chips(page) == [names[1]]
    press("ArrowDown")
    press("ArrowDown")
    assert page.evaluate("document.activeElement.closest('li')?.dataset.id") is not None
    wanted = suggestions(page)[1]
    settled(page, lambda: press("Space"), "/explain")
    assert page.locator(".why:visible").count() == 1
    press("Escape")
    assert page.locator(".why:visible").count() == 0
    settled(page, lambda: press("Enter"))
    assert chips(page) == [names[1], wanted]
    assert page.evaluate("document.activeElement.className") == "main-row"
    settled(page, lambda: press("Control+z"))
    assert chips(page) == [names[1]]
    settled(page, lambda: press("Control+Shift+z"))
    assert chips(page) == [names[1], wanted]
    press("/")
    settled(page, lambda: press("Backspace"))
    assert chips(page) == [names[1]]
    page.locator("#search").blur()
    press("?")
    assert page.locator("#keys").is_visible()
    press("Escape")
    assert page.locator("#keys").is_hidden()
    # everything that can be clicked can be reached
    reached = set()
    for _ in range(60):
        press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.className"))
    assert {"search", "undo", "clear", "name", "out", "main-row", "add", "map-names", "map-find", "help"} <= reached


def test_typing_faster_than_the_answer(opened: Opened) -> None:
    page = opened()
    page.focus("#search")
    page.keyboard.type("oat milk")
    settled(page, lambda: page.keyboard.press("Enter"))
    assert chips(page) == ["Oat milk"]
    page.keyboard.type("qqqqqq")
    page.get_by_text("No item is called “qqqqqq”").wait_for()
    page.keyboard.press("Enter")
    assert chips(page) == ["Oat milk"]


def test_a_late_answer_is_dropped(opened: Opened) -> None:
    page = opened()
    held: list[Any] = []

    def hold_first(route: Any) -> None:
        held.append(route) if not held else route.continue_()

    page.route("**/api/v1/complete", hold_first)
    page.evaluate("location.hash = '#i=pasta'")
    until(page, "document.querySelector('#list.pending')")
    settled(page, lambda: page.evaluate("location.hash = '#i=flour&i=eggs'"))
    shown = suggestions(page)
    body = {"model": "dem", "score_is": "", "basket": [], "unknown": [], "suggestions": []}
    with suppress(sync_api.Error):  # the page has given it up already
        held[0].fulfill(json=body)
    page.wait_for_timeout(100)
    assert suggestions(page) == shown
    assert chips(page) == ["Flour", "Eggs"]


def test_a_basket_is_its_address(opened: Opened) -> None:
    page = opened(path="/#i=pasta&i=zz%20top")
    assert chips(page) == ["Pasta", "zz top"]
    assert "does not know “zz top”" in page.inner_text("#note")
    add(page, "milk")
    again = opened(path="/" + page.evaluate("location.hash"))
    assert chips(again) == chips(page)
    assert suggestions(again) == suggestions(page)


def test_titles_are_text(opened: Opened) -> None:
    page = opened(path="/#i=batteries")
    assert chips(page) == [HOSTILE]
    page.fill("#search", "img src")
    page.wait_for_selector("#options [role=option]")
    page.press("#search", "Enter")
    assert "already" in page.inner_text("#note")
    assert page.locator("img[src=x]").count() == 0


# -- the map ------------------------------------------------------------------------------------------


def test_the_map_is_drawn_and_moves(opened: Opened) -> None:
    from PIL import Image

    page = mapped(opened(path="/#i=pasta"))
    assert page.evaluate("document.querySelector('.map-points').getContext('webgl') !== null")
    picture = Image.open(io.BytesIO(page.locator(".map-stage").screenshot())).convert("RGB")
    colours = picture.getcolors(1 << 24)
    assert colours is not None
    assert len(colours) > 200
    shown = page.evaluate("document.querySelector('#map').itemMap.shown")
    assert shown[0] == "pasta"
    assert "pasta sauce" in shown

    whole = view(page)
    page.get_by_label("Zoom in").click()
    assert view(page)["k"] == pytest.approx(1.8 * whole["k"])
    page.get_by_label("See all", exact=True).click()
    assert view(page) == whole
    page.locator(".map-names").hover(position={"x": 300, "y": 200})
    page.mouse.wheel(0, -300)
    until(page, f"document.querySelector('#map').itemMap.view.k > {1.3 * whole['k']}")
    page.focus(".map-names")
    for key, moves in (("ArrowRight", "x"), ("ArrowUp", "y"), ("+", "k")):
        before = view(page)
        page.keyboard.press(key)
        assert view(page)[moves] > before[moves]
    page.keyboard.press("0")
    assert view(page) == whole


def test_pointing_at_the_map(opened: Opened) -> None:
    page = mapped(opened())
    place = page.evaluate("""() => {
        const map = document.querySelector('#map').itemMap, at = map.number.get('wasabi'), { x, y, k } = map.view;
        const box = map.names.getBoundingClientRect();
        return [box.left + map.w / 2 + (map.data.x[at] - x) * k, box.top + map.h / 2 - (map.data.y[at] - y) * k];
    }""")
    page.mouse.move(*place)
    assert "Wasabi" in page.inner_text(".map-tip")
    assert re.search(r"in [\d,]+ records", page.inner_text(".map-tip"))
    boxes = page.locator("#map canvas").evaluate_all(
        "all => all.map((one) => JSON.stringify(one.getBoundingClientRect()))"
    )
    assert boxes[0] == boxes[1]  # names and points lie on each other
    assert (
        page.locator("#map canvas").evaluate_all("all => all.map((one) => getComputedStyle(one).padding)")
        == ["0px"] * 2
    )
    page.mouse.click(*place)
    settled(page, page.locator(".map-tip").get_by_text("Add to the basket").click)
    assert chips(page) == ["Wasabi"]
    before = view(page)
    page.mouse.move(700, 400)
    page.mouse.down()
    page.mouse.move(760, 430, steps=3)
    page.mouse.up()
    assert view(page)["x"] < before["x"]


def test_finding_on_the_map(opened: Opened) -> None:
    page = mapped(opened())
    whole = view(page)
    page.fill(".map-find", "wasa")
    assert page.locator(".map-list li").all_inner_texts() == ["Wasabi"]
    page.press(".map-find", "Enter")
    assert view(page)["k"] > 2 * whole["k"]
    assert "Wasabi" in page.inner_text(".map-tip")
    group = page.locator(".map-key button").first
    group.click()
    assert group.get_attribute("aria-pressed") == "true"


def test_the_map_as_a_file(browser: Any, tmp_path: Path) -> None:
    """A hundred thousand items in one file that asks for nothing."""
    n = 100_000
    rng = np.random.default_rng(0)
    places = np.clip(rng.normal(size=(n, 2)) / 4, -1, 1).astype(np.float32)
    names = np.array([f"item {number}" for number in range(n)], dtype=object)
    made = Map(places, names, rng.integers(1, 1000, n), 2)
    made.write(tmp_path / "map.html", {"item 77": (HOSTILE, "odd")}, heading="Many & more")
    page = browser.new_page()
    asked: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda said: complaints.append(said.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto((tmp_path / "map.html").as_uri())
    until(page, "document.querySelector('#map').itemMap.shown?.length > 20")
    assert page.inner_text("h1") == "Many & more"
    page.fill(".map-find", "img src")
    assert page.locator(".map-list li").all_inner_texts() == [HOSTILE]
    page.press(".map-find", "Enter")
    assert HOSTILE in page.inner_text(".map-tip")
    page.close()
    assert complaints == []
    assert all(url.startswith(("file:", "data:")) for url in asked)
    assert len([url for url in asked if url.startswith("file:")]) == 1


def test_names_are_placed_as_in_print(opened: Opened) -> None:
    page = opened()
    rng = np.random.default_rng(1)
    places, widths = rng.uniform(0, 500, (300, 2)).round(2).tolist(), rng.uniform(30, 160, 300).round(2).tolist()
    found = page.evaluate(
        "async ([places, widths]) =>"
        " (await import('./static/map.js')).placeLabels(places, widths, 14, [500, 400], 3, 60)",
        [places, widths],
    )
    expected = place_labels(places, widths, 14, (500, 400), gap=3, limit=60)
    assert [number for number, *_ in found] == [number for number, *_ in expected]
    assert np.allclose(found, expected)
    assert len(expected) == 60  # so that the limit counts too
    assert expected[-1][0] > 90


# -- other people's screens -----------------------------------------------------------------------------


def test_on_a_phone(opened: Opened) -> None:
    page = opened(viewport=PHONE, has_touch=True, is_mobile=True)
    assert page.locator("#map").is_hidden()
    add(page, "pasta")
    settled(page, page.locator("#list .add").first.tap)
    assert len(chips(page)) == 2
    settled(page, page.locator("#list .main-row").first.tap, "/explain")
    for tab, panel in (("#tab-map", "#map"), ("#tab-card", "#card"), ("#tab-basket", "#basket")):
        page.tap(tab)
        assert page.locator(panel).is_visible()
        assert page.locator("main > section:visible").count() == 1
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    small = page.locator("button:visible").evaluate_all(
        "all => all.filter((one) => one.getBoundingClientRect().height < 24).map((one) => one.outerHTML)"
    )
    assert small == []
    page.tap("#tab-map")
    mapped(page)
    box = page.locator(".map-stage").bounding_box()
    assert box["width"] == PHONE["width"]
    assert box["height"] > 400


def contrast(one: str, other: str) -> float:
    """The ratio of WCAG between two colours `rgb(r, g, b)`."""

    def light(colour: str) -> float:
        parts = np.array([float(part) for part in re.findall(r"[\d.]+", colour)[:3]]) / 255
        return float(
            np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]
        )

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_can_be_read(opened: Opened, scheme: str) -> None:
    page = opened(path="/#i=pasta&i=nothing", color_scheme=scheme)
    settled(page, page.locator("#list .main-row").first.click, "/explain")
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (contrast(background, "rgb(0, 0, 0)") > 10) == (scheme == "light")
    pairs = page.evaluate("""() => [...document.querySelectorAll('body *')].filter((one) => one.checkVisibility()
        && !one.closest('.hidden, :disabled')
        && [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
        .map((one) => {
            let below = one, shade = 'rgba(0, 0, 0, 0)';
            while (below && /, 0\\)$|transparent/.test(shade)) {
                shade = getComputedStyle(below).backgroundColor;
                below = below.parentElement;
            }
            return [getComputedStyle(one).color, shade, one.textContent];
        })""")
    assert len(pairs) > 30
    assert [pair for pair in pairs if contrast(*pair[:2]) < 4.5] == []


def test_every_control_has_a_name(opened: Opened) -> None:
    page = mapped(opened(path="/#i=pasta"))
    settled(page, page.locator("#list .main-row").first.click, "/explain")
    page.fill("#search", "m")
    page.wait_for_selector("#options li")
    found = page.evaluate("""() => {
        const named = (one) => one.ariaLabel || one.innerText?.trim() || one.labels?.[0]?.innerText
            || document.getElementById(one.getAttribute('aria-labelledby'))?.innerText;
        const all = (selector) => [...document.querySelectorAll(selector)];
        const controls = all('button, input, a, summary, [tabindex], [role=listbox], [role=tabpanel]');
        const ids = all('[id]').map((one) => one.id);
        const refers = all('[aria-controls]').map((one) => one.getAttribute('aria-controls'));
        return {
            nameless: controls.filter((one) => one.checkVisibility() && !named(one)).map((one) => one.outerHTML),
            twice: ids.filter((id, at) => ids.indexOf(id) !== at),
            nowhere: refers.filter((id) => !document.getElementById(id)),
            pictures: [...document.images].filter((one) => !one.hasAttribute('alt')).length,
            language: document.documentElement.lang, title: document.title,
        };
    }""")
    nothing: dict[str, Any] = {"nameless": [], "twice": [], "nowhere": [], "pictures": 0}
    assert found == nothing | {"language": "en", "title": "cooccur"}
    assert "suggestions, the first is" in page.text_content("#live")


# -- the card, and when something is wrong ------------------------------------------------------------------


def test_the_card(opened: Opened) -> None:
    page = opened()
    page.click("#tab-card")
    page.wait_for_selector("#card table")
    rows = page.locator("#card tbody tr").all_inner_texts()
    assert [row.split()[0] for row in rows] == [SPECS["dem"], "popularity", "lwcvg"]
    assert all(re.fullmatch(r"\S+(\s+\d+\.\d\d){3}", row.strip()) for row in rows)
    text = page.inner_text("#card")
    assert re.search(r"Percent of 2\d\d removed items that were found again", text)
    assert re.search(r"Epoch [01] was kept, of 2\.", text)
    charts = page.locator("#card svg[role=img]").evaluate_all("all => all.map((one) => one.getAttribute('aria-label'))")
    assert [chart.split(":")[0].split(" by ")[0] for chart in charts] == [
        "Reliability curve", "loss", "Top@10 on held-out records, percent",
    ]  # fmt: skip


def test_the_card_of_a_model_that_was_not_measured(opened: Opened) -> None:
    page = opened("scores")
    page.click("#tab-card")
    page.wait_for_selector("#card h2")
    text = page.inner_text("#card")
    assert text.count("Not measured yet; run cooccur fit ... --measure") == 2
    assert "The file keeps no training history." in text


def test_a_model_without_probabilities_shows_scores(opened: Opened) -> None:
    page = opened("scores", path="/#i=pasta")
    assert "this model gives no probabilities" in page.inner_text("#scale")
    assert not any("%" in value for value in page.locator("#list .value").all_inner_texts())
    settled(page, page.locator("#list .main-row").first.click, "/explain")
    assert "length-weighted co-occurrence" in page.inner_text(".why .sum")


def test_a_model_without_a_map_says_so(opened: Opened) -> None:
    page = opened("flat", quiet=False)
    page.wait_for_selector("#map[data-state=none]")
    assert "sees every item by itself" in page.inner_text("#map-note")


def test_the_service_goes_away_and_comes_back(opened: Opened) -> None:
    page = opened(quiet=False)
    add(page, "pasta")
    shown = suggestions(page)
    page.route("**/api/**", lambda route: route.abort())
    page.route("**/readyz", lambda route: route.abort())
    page.fill("#search", "mil")
    page.wait_for_selector("#trouble:visible")
    assert "The service does not answer" in page.inner_text("#trouble")
    assert suggestions(page) == shown
    page.unroute("**/api/**")
    page.unroute("**/readyz")
    page.wait_for_selector("#trouble", state="hidden")
    assert chips(page) == ["Pasta"]


def test_what_the_service_refuses_is_told_in_its_words(opened: Opened) -> None:
    page = opened(quiet=False)
    error = {"error": {"code": "too_large", "message": "The basket is too large.", "remedy": "Take some items out."}}
    page.route("**/api/v1/complete", lambda route: route.fulfill(status=413, json=error))
    page.evaluate("location.hash = '#i=pasta'")
    page.wait_for_selector("#trouble:visible")
    assert page.inner_text("#trouble") == "The basket is too large. Take some items out."


def test_a_token_is_asked_for(opened: Opened) -> None:
    page = opened(quiet=False)

    def guarded(route: Any) -> None:
        if route.request.headers.get("authorization") == "Bearer secret":
            route.continue_()
        else:
            route.fulfill(status=401, json={"error": {"code": "token", "message": "A token is needed.", "remedy": ""}})

    page.route("**/api/**", guarded)
    page.evaluate("location.hash = '#i=pasta'")
    page.wait_for_selector("#token[open]")
    page.fill("#token-text", "secret")
    page.keyboard.press("Enter")
    page.wait_for_selector("#token", state="hidden")
    until(page, "document.querySelector('#title').textContent === 'What is missing'")
    assert json.loads(page.evaluate("JSON.stringify(sessionStorage)")) == {"token": "secret"}
