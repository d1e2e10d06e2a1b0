"""The report in a real browser: Debian's Chromium, driven by Playwright."""

import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from references.hostile import HOSTILE, flagged, hostile_frame

from sturdygp.report.html.page import write_report
from sturdygp.tables.flagging import Recipe

CHROMIUM = Path("/usr/bin/chromium")


# No sandbox: continuous integration runs as root. The rest keeps the browser itself from the network.
SWITCHES = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


# Paper and ink of each theme.
COLOURS = {
    "light": ("rgb(255, 255, 255)", "rgb(27, 31, 36)"),
    "dark": ("rgb(21, 24, 28)", "rgb(232, 234, 237)"),
}


TEXT_CONTRAST, MARK_CONTRAST = 4.5, 3.0


CONTRAST = """names => {
  const probe = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const luminance = name => {
    document.body.style.outlineColor = `var(--${name})`;
    probe.fillStyle = getComputedStyle(document.body).outlineColor;
    probe.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...probe.getImageData(0, 0, 1, 1).data].map(v => v / 255)
      .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paper = luminance("paper");
  return names.map(luminance).map(l => (Math.max(l, paper) + 0.05) / (Math.min(l, paper) + 0.05));
}"""


@pytest.fixture(scope="module")
def browser():
    """Chromium; without it a test is skipped, or fails where a browser is required."""
    unable = pytest.fail if os.environ.get("STURDYGP_REQUIRE_BROWSER") == "1" else pytest.skip
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        unable("playwright is not installed")
    if not CHROMIUM.exists():
        unable(f"{CHROMIUM} is not there; install Debian's package chromium")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=str(CHROMIUM), args=SWITCHES)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(flagged(hostile_frame()), Path("data.csv"), path)
    return path


@pytest.fixture(scope="module")
def opened(browser, report):
    """Opens the report; whatever the browser complains about or asks for is kept."""
    contexts = []

    def opening(width=1280, report=report, **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.complaints, page.requests = [], []
        page.on("console", lambda message: page.complaints.append(message.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("request", lambda request: page.requests.append(request.url))
        page.goto(report.as_uri())
        page.wait_for_selector("#trace-0 .main-svg")
        return page

    yield opening
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """A report of large numbers, many inputs with long names, and times that tell their zones."""
    rng, n = np.random.default_rng(1), 40
    frame = pd.DataFrame({"epoch": 1774659600 + 5 * np.arange(n)})
    frame["time"] = pd.date_range("2026-03-28", periods=n, freq="h").strftime("%Y-%m-%dT%H:%M+01:00")
    for name in (
        "Außentemperatur_in_Grad_Celsius",
        "pressure_of_the_second_vessel",
        "humidity",
        "a",
        "b",
        "c",
    ):
        frame[name] = rng.uniform(0.0, 1.0, n)
    frame["y"] = 1e7 + 0.1 * np.sin(np.arange(n) / 5.0) + 0.01 * rng.standard_normal(n)
    frame.loc[[5, 21], "y"] += 0.6
    path = tmp_path_factory.mktemp("report") / "wide.html"
    write_report(flagged(frame, Recipe("mixture")), Path("data.csv"), path)
    return path


def test_ticks_tell_large_numbers_apart(opened, wide):
    page = opened(report=wide)
    labels = page.locator("#fit-0 .ytick").all_text_contents()
    assert len(set(labels)) == len(labels) >= 3
    assert all(float(label) == pytest.approx(1e7, abs=10.0) for label in labels)
    assert all(float(label) > 1774659000 for label in page.locator("#fit-0 .xtick").all_text_contents())
    page.locator("#fit-0 .scatterlayer .trace").last.locator("path.point").first.hover(force=True)
    assert "reading 1000000" in page.locator("#fit-0 .hovertext").text_content()


def test_axis_names_the_zone(opened, wide):
    page = opened(report=wide)
    chooser(page).select_option("time (UTC)")
    assert page.locator("#fit-0 .xtitle").text_content() == "time (UTC)"


def test_table_is_whole_on_paper_and_shows_results_first(opened, wide):
    page = opened(1000, report=wide)
    results = page.get_by_role("columnheader", name="probability")
    assert results.bounding_box()["x"] + results.bounding_box()["width"] <= 1000
    # A4 without its margins.
    page.set_viewport_size({"width": 680, "height": 900})
    page.emulate_media(media="print")
    table = page.locator("table").first.bounding_box()
    assert table["x"] + table["width"] <= 680


@pytest.mark.parametrize("touch", [False, True])
def test_hint_of_dragging_is_shown_where_it_works(opened, touch):
    page = opened(390, has_touch=touch, is_mobile=touch)
    for told in (page.get_by_text("Drag to zoom"), page.get_by_text(": double-click to see all").first):
        assert told.is_visible() is not touch


@pytest.fixture(scope="module")
def page(opened):
    """The report as most people see it; opening takes longest, so that tests share it."""
    return opened()


def chooser(page):
    return page.locator("select")


def test_page_opens_without_complaint_and_asks_for_nothing(page, report):
    page.wait_for_timeout(200)
    assert page.complaints == []
    assert page.requests == [report.as_uri()]
    assert page.title() == "Faulty readings in data.csv"


def test_axis_shows_names_from_the_table_as_they_are(page):
    chooser(page).select_option(HOSTILE)
    assert page.locator("#fit-0 .xtitle").text_content() == HOSTILE
    chooser(page).select_option("site")
    assert '<img src="x">' in page.locator("#fit-0 .xtick").all_text_contents()
    assert page.locator("img, main b, #fit-0 a[href]").count() == 0


def test_hovering_shows_a_reading(page):
    page.locator("#fit-0 .scatterlayer .trace").last.locator("path.point").first.hover(force=True)
    shown = page.locator("#fit-0 .hovertext").text_content()
    for part in ("row ", "reading ", "expected ", "outlier probability "):
        assert part in shown


def test_dragging_zooms_and_a_double_click_shows_all(page):
    chooser(page).select_option(HOSTILE)
    chart = page.locator("#fit-0")
    extent = "() => document.getElementById('fit-0').layout.xaxis.range.map(Number)"
    all_ = page.evaluate("() => document.getElementById('fit-0')._fullLayout.xaxis.range")
    box = chart.locator(".nsewdrag").bounding_box()
    x, y = box["x"] + box["width"] / 3, box["y"] + box["height"] / 3
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + box["width"] / 3, y + box["height"] / 3, steps=5)
    page.mouse.up()
    low, high = page.evaluate(extent)
    assert all_[0] < low < high < all_[1]
    page.mouse.dblclick(x, y)
    page.wait_for_function(
        "all => document.getElementById('fit-0')._fullLayout.xaxis.range[0] === all[0]", arg=all_
    )


def background(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def ink(page):
    return page.locator("#fit-0 .ytitle").evaluate("node => getComputedStyle(node).fill")


@pytest.mark.parametrize(("scheme", "other"), [("light", "Dark"), ("dark", "Light")])
def test_theme_follows_the_system_and_the_button(opened, page, scheme, other):
    page = page if scheme == "light" else opened(color_scheme=scheme)
    button = page.get_by_role("button", name=other, exact=True)
    assert (background(page), ink(page)) == COLOURS[scheme]
    button.press("Enter")
    assert (background(page), ink(page)) == COLOURS[other.lower()]
    assert_contrast(page)
    page.get_by_role("button", name=scheme.capitalize(), exact=True).click()
    assert (background(page), ink(page)) == COLOURS[scheme]


def assert_contrast(page):
    assert min(page.evaluate(CONTRAST, ["ink", "soft", "fit"])) >= TEXT_CONTRAST
    assert min(page.evaluate(CONTRAST, ["fit", "reading", "flagged"])) >= MARK_CONTRAST


def test_chooser_puts_an_input_on_the_axis(page):
    for name in ("time", "row of the table", "site"):
        chooser(page).select_option(name)
        assert page.locator("#fit-0 .xtitle").text_content() == name
    assert page.complaints == []


def column(page, index):
    cells = page.locator("table").first.locator(f"tbody td:nth-child({index + 1})")
    return [float(value) for value in cells.evaluate_all("cells => cells.map(c => c.dataset.value)")]


def test_header_sorts_the_table(page):
    header = page.get_by_role("columnheader", name="reading")
    index = header.evaluate("node => node.cellIndex")
    header.get_by_role("button").press("Enter")
    assert header.get_attribute("aria-sort") == "ascending"
    ascending = column(page, index)
    assert all(a < b for a, b in pairwise(ascending))
    header.get_by_role("button").click()
    assert header.get_attribute("aria-sort") == "descending"
    assert column(page, index) == ascending[::-1]
    assert page.locator("[aria-sort]").count() == 1


@pytest.mark.parametrize("width", [390, 1280])
def test_page_does_not_overflow(opened, page, width):
    page = page if width == 1280 else opened(width, has_touch=True)
    assert page.complaints == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # Wide tables scroll in a frame of their own.
    widest = """() => Math.max(...[...document.querySelectorAll("body *:not(.scroll *):not(svg *)")]
        .map(node => node.getBoundingClientRect().right))"""
    assert page.evaluate(widest) <= width


@pytest.mark.parametrize("width", [500, 1200])
def test_buttons_cover_nothing(opened, width):
    page = opened(width)
    for name in ("fit", "deviation", "calibration", "trace"):
        chart = page.locator(f"#{name}-0")
        bar = chart.locator(".modebar-group").bounding_box()
        parts = chart.locator(".legendtext, .nsewdrag").all()
        assert all(part.bounding_box()["y"] >= bar["y"] + bar["height"] for part in parts)


def test_page_prints_in_light_colours_and_comes_back(opened):
    page = opened(color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert (background(page), ink(page)) == COLOURS["light"]
    assert not page.locator("#theme").is_visible()
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.emulate_media(media="screen")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert (background(page), ink(page)) == COLOURS["dark"]


def test_page_can_be_read_without_eyes_or_mouse(opened):
    page = opened()
    assert page.locator("html").get_attribute("lang") == "en"
    for landmark in ("banner", "main", "contentinfo"):
        assert page.get_by_role(landmark).count() == 1
    assert page.get_by_role("heading", level=1).count() == 1
    charts = page.locator(".chart")
    assert charts.count() == 4
    assert all(charts.nth(i).get_attribute("aria-label") for i in range(4))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "To the report"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "theme"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.tagName") == "SELECT"
