"""The page of `headway serve`: its own suites, run as `web/package.json` names them.

Nothing here needs a network once `npm ci` has run (`./dev setup` does). The page is built into a
folder of its own, so that what is tested is what the sources say, not what was built before."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WEB = ROOT / "web"
BUILT = ROOT / "build/page-under-test"
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
HEADWAY = Path(os.environ.get("HEADWAY_BIN", ROOT / "build/headway"))
FIRST_LOAD_MAX_BYTES = 150_000
SUITE_MAX_S = 1500

pytestmark = pytest.mark.skipif(
    not shutil.which("npm") or not (WEB / "node_modules").is_dir(),
    reason="needs Node.js and web/node_modules: ./dev setup",
)


def run(*command: str, **variables: str) -> str:
    """What a command in `web` printed; its failure is the test's, with all it said."""
    done = subprocess.run(
        command,
        cwd=WEB,
        env=os.environ | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SUITE_MAX_S,
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(command)} failed:\n{done.stdout[-20000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def built() -> Path:
    shutil.rmtree(BUILT, ignore_errors=True)
    run("npx", "--no-install", "vite", "build", "--outDir", str(BUILT), "--emptyOutDir")
    return BUILT


def test_types_and_format() -> None:
    run("npm", "run", "check")


def test_logic() -> None:
    run("npm", "test")


def test_the_lock_names_no_registry() -> None:
    """Whoever installs chooses where from; checksums say that it is the same."""
    packages = json.loads((WEB / "package-lock.json").read_text())["packages"]
    assert not [name for name, one in packages.items() if "resolved" in one]
    assert not [name for name, one in packages.items() if name and "integrity" not in one]


def test_first_load_is_small_and_nothing_is_inline(built: Path) -> None:
    scripts = sorted(built.glob("assets/*.js"))
    assert scripts
    packed = sum(len(gzip.compress(path.read_bytes())) for path in scripts)
    print(f"scripts: {packed} bytes gzipped")
    assert packed < FIRST_LOAD_MAX_BYTES
    page = (built / "index.html").read_text()
    assert "<style" not in page
    assert "style=" not in page
    assert page.count("<script") == page.count('<script type="module" crossorigin src="/assets/')


@pytest.mark.skipif(not CHROMIUM, reason="needs chromium: ./dev setup")
@pytest.mark.skipif(not HEADWAY.exists(), reason="needs a built headway: ./dev build")
def test_the_page_of_a_real_collector(built: Path) -> None:
    """What `headway serve --demo` itself serves, in a real browser; nothing is stood in for."""
    print(run("npm", "run", "test:real", HEADWAY_PAGE_DIST=str(built), HEADWAY_BIN=str(HEADWAY)))


@pytest.mark.skipif(not CHROMIUM, reason="needs chromium: ./dev setup")
def test_in_a_browser(built: Path) -> None:
    print(run("npm", "run", "test:page", HEADWAY_PAGE_DIST=str(built)))
