"""The report for a browser: texts as torch dumped them, hostile names, places that must not be
written to, and a real browser that opens it from the disk."""

from __future__ import annotations

import hashlib
import html
import json
import os
import re
import resource
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

from browser import Page, in_browser
from fault_training import mounted, needs_root
from test_real_traces import SCRIPT
from test_trace_cli import PREFIX, record

Run = Callable[..., subprocess.CompletedProcess[str]]
HEADWAY = os.environ.get("HEADWAY_BIN", "build/headway")
IDS = {"frame_id": 0, "frame_compile_id": 0, "attempt": 0}
EVIL = "<script>document.title='owned'</script><img src=x onerror=alert(1)>\"'&"


def metrics(number: int, name: str, **more: object) -> str:
    told = {
        "compile_id": f"{number}/0",
        "co_name": name,
        "co_filename": f"/a/{name}.py",
        "co_firstlineno": 3,
        "start_time_us": 1_700_000_000_000_000 + number * 10_000_000,
        "duration_us": 1_000_000 * (1 + number % 7),
        "inductor_config": json.dumps({"max_autotune": False, "evil": name}),
        **more,
    }
    return record({"compilation_metrics": told, **IDS, "frame_id": number})


def artifact(name: str, text: str, number: int = 0) -> str:
    about = {"name": name, "encoding": "string"}
    return record({"artifact": about, **IDS, "frame_id": number}, text)


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))


def check_pages(report: Path) -> int:
    """No page asks for anything outside of the report, has code of its own, or loses a link."""
    pages = sorted(report.rglob("*.html"))
    for page in pages:
        tags = Tags()
        tags.feed(page.read_text())
        policies = [a["content"] for t, a in tags.seen if a.get("http-equiv")]
        assert len(policies) == 1 and str(policies[0]).startswith("default-src 'none'"), page
        for tag, attributes in tags.seen:
            assert tag in KNOWN_TAGS, (page, tag)
            assert not any(name.startswith("on") or name == "style" for name in attributes), page
            if tag == "script":
                assert attributes["src"] in ("report.js", "compiles.js"), page
            for name in ("src", "href"):
                target = attributes.get(name)
                if target is not None and not target.startswith("#"):
                    assert re.fullmatch(r"[\w./-]+", target), (page, target)
                    place = (page.parent / target).resolve()
                    assert place.is_relative_to(report.resolve()) and place.is_file(), target
    return len(pages)


KNOWN_TAGS = set(
    """a b button code details div form h1 h2 header html iframe input label li link main meta nav
    noscript ol option output p pre rect script section select span summary svg table tbody td th
    thead title tr ul""".split()  # noqa: SIM905
)


def test_texts_are_what_torch_dumped(
    headway: Run, compiled: Callable[..., Path], tmp_path: Path
) -> None:
    trace = compiled("trace", SCRIPT, ROWS="8,9,200")
    report = tmp_path / "report"
    page = headway("trace", trace, "--html", report, "--verify").stdout
    assert f"wrote {report}/index.html" in page
    heads = [
        json.loads(line[line.index("] {") + 2 :])
        for log in trace.glob("*.log")
        for line in log.read_text().splitlines()
        if line.startswith("V")
    ]
    dumped = sorted(
        head["has_payload"]
        for head in heads
        if "has_payload" in head and "chromium_event" not in head
    )
    texts = [path for path in report.rglob("*.txt") if not path.name.startswith("metrics")]
    written = sorted(hashlib.md5(path.read_bytes()).hexdigest() for path in texts)
    assert len(dumped) > 30 and written == dumped
    assert check_pages(report) > 4
    once = (report / "log0/0_0/index.html").read_text()
    assert "inductor_output_code" in once and "dynamo_cpp_guards_str" in once
    again = html.unescape((report / "log0/0_1/index.html").read_text())
    assert "size mismatch at index 0. expected 8, actual 9" in again
    assert "made dynamic: L['x']:0" in again
    index = (report / "index.html").read_text()
    assert "user stack" in index and "graph_break()" in index
    assert "inductor_config.max_autotune" in (report / "config.html").read_text()
    assert "&lt;module&gt;" in (report / "stacks.html").read_text()

    headway("trace", trace, "--html", report)  # ours: replaced
    assert check_pages(report) > 4
    assert not list(tmp_path.glob("report.partial*"))

    async def look(page: Page) -> None:
        await page.open(report / "index.html")
        assert await page.ask("document.querySelectorAll('#list tbody tr').length") >= 3
        # The texts are not loaded before somebody looks at them.
        assert not [url for url in page.requests if url.endswith(".txt")]
        assert len(page.requests) == 4, page.requests
        await page.open(report / "log0/0_0/index.html")
        assert [url for url in page.requests if url.endswith("-inductor_output_code.txt")]
        assert all(url.startswith("file://") for url in page.requests), page.requests
        assert page.messages == []

    in_browser(look)


def hostile_log() -> str:
    return "".join(
        [
            record({"str": [EVIL + ".py", 1]}),
            record(
                {"dynamo_start": {"stack": [{"line": 3, "name": EVIL, "filename": 1}]}, **IDS},
            ),
            metrics(0, EVIL, fail_type=EVIL, fail_reason=EVIL, restart_reasons=[EVIL]),
            artifact("recompile_reasons", EVIL),
            artifact("../../" + EVIL, EVIL),
            artifact("/etc/passwd", EVIL),
            artifact("dynamo_graph_break_reason", f"Graph break in user code at {EVIL}\n{EVIL}"),
            artifact("fx_graph_cache_bypass", json.dumps({"cache_bypass_reason": EVIL})),
            artifact("fx_graph_cache_miss", json.dumps({"key": EVIL, "components": []})),
            artifact("triton_kernel_info", json.dumps({EVIL: {"num_configs": 9}})),
            record({"artifact": {"name": EVIL, "encoding": "string"}}, "</pre>" + EVIL),
        ]
    )


def test_hostile_names_and_texts(headway: Run, tmp_path: Path) -> None:
    folder = tmp_path / "x"
    folder.mkdir()
    (folder / "<b>.log").write_text(hostile_log())
    report = tmp_path / "report"
    headway("trace", folder, "--html", report)
    assert check_pages(report) == 4
    for page in report.rglob("*.html"):
        assert EVIL not in page.read_text(), page
    texts = [path for path in report.rglob("*.txt") if EVIL in path.read_text()]
    assert len(texts) >= 5 and all(path.is_relative_to(report) for path in texts)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report", "x"]

    async def look(page: Page) -> None:
        for name in ("index.html", "stacks.html", "config.html", "log0/0_0/index.html"):
            await page.open(report / name)
            assert await page.ask("document.title") != "owned"
            assert await page.ask("document.querySelector('img') === null")
        assert await page.ask("document.body.textContent.includes('onerror=alert')")
        assert page.messages == []

    in_browser(look)


def test_sorted_filtered_and_walked_by_keyboard(headway: Run, tmp_path: Path) -> None:
    names = [f"f{number}" for number in range(450)]
    log = tmp_path / "a.log"
    log.write_text("".join(metrics(number, name) for number, name in enumerate(names)))
    report = tmp_path / "report"
    headway("trace", log, "--html", report)

    async def look(page: Page) -> None:
        await page.open(report / "index.html")
        rows = "document.querySelectorAll('#list tbody tr').length"
        first = "document.querySelector('#list tbody tr').cells[2].textContent"
        assert await page.ask(rows) == 200, "some at a time"
        assert await page.ask("document.getElementById('count').textContent") == "450 of 450"
        assert (await page.ask(first)).startswith("f6 "), "the longest first"
        await page.press("/", "/")
        assert await page.ask("document.activeElement.id") == "words"
        for letter in "f44":
            await page.press(letter, letter)
        assert await page.ask(rows) == 11  # f44, f440 … f449
        await page.press("Escape")
        await page.ask("[...document.querySelectorAll('#list th button')][2].focus()")
        await page.press("Enter", "\r")
        assert (await page.ask(first)).startswith("f0 "), "by name"
        sort = "document.querySelector('th[aria-sort]').textContent"
        assert await page.ask(sort) == "compiled"
        await page.ask("document.getElementById('more').focus()")
        await page.press("Enter", "\r")
        assert await page.ask(rows) == 400
        background = "getComputedStyle(document.body).backgroundColor"
        await page.picture(tmp_path / "light.png", dark=False)
        light = await page.ask(background)
        await page.picture(tmp_path / "dark.png", dark=True)
        assert light == "rgb(255, 255, 255)" and await page.ask(background) != light

    in_browser(look)


def test_places_that_are_somebody_elses(headway: Run, tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(metrics(0, "f"))
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("all of it")
    error = headway("trace", log, "--html", mine, code=2).stderr
    said = "is not empty, and no report of Headway; name a new folder"
    assert error == f"headway: --html {mine}: {said}\n"
    error = headway("trace", log, "--html", log, code=2).stderr
    assert error.count("\n") == 1 and "is not a folder" in error
    report = tmp_path / "report"
    report.mkdir()
    headway("trace", log, "--html", report)
    (report / "notes.txt").write_text("mine")
    error = headway("trace", log, "--html", report, code=2).stderr
    assert "holds notes.txt beside an earlier report" in error
    assert (report / "notes.txt").read_text() == "mine"
    headway("trace", log, "--html", tmp_path / "new/deep/report/")
    assert (tmp_path / "new/deep/report/index.html").is_file()


@needs_root
def test_a_disk_that_is_full(headway: Run, tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(metrics(0, "f") + artifact("graph", "x" * 5_000_000))
    disk = tmp_path / "disk"
    with mounted(disk, "-t", "tmpfs", "-o", "size=1m", "none"):
        error = headway("trace", log, "--html", disk / "report", code=2).stderr
        assert error.count("\n") == 1 and "No space left on device" in error
        assert "nothing was left behind" in error
        assert list(disk.iterdir()) == []


def test_a_payload_beyond_what_is_held(tmp_path: Path) -> None:
    """40 MB in one text, with little memory."""
    text = "\n".join(f"line {number}\t{'x' * 90}" for number in range(400_000))
    log = tmp_path / "a.log"
    log.write_text(artifact("graph", text) + PREFIX.replace("V", "W"))

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))

    command = [HEADWAY, "trace", str(log), "--html", str(tmp_path / "report")]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, preexec_fn=limit)
    (written,) = (tmp_path / "report").rglob("*-graph.txt")
    assert written.read_text() == text
