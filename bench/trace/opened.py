"""How long a real Chromium takes to open a trace's report, a new one each time:

    python bench/trace/opened.py INDEX.html TIMES

From asking for the page until it is loaded and its list of compilations drawn, in milliseconds by
the browser's own clock. Prints them as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/trace"))
from browser import CHROMIUM, Page, in_browser

LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd"
ROWS = "document.querySelectorAll('#list tbody tr').length"


def opening_ms(index: Path) -> float:
    found = []

    async def look(page: Page) -> None:
        await page.open(index)
        await page.until(f"{LOADED} > 0")
        if not await page.ask(ROWS):
            sys.exit(f"{index} lists no compilation")
        found.append(await page.ask(LOADED))

    in_browser(look)
    return found[0]


def main() -> None:
    if CHROMIUM is None:
        sys.exit("there is no chromium to open a report with")
    print(json.dumps([opening_ms(Path(sys.argv[1])) for _ in range(int(sys.argv[2]))]))


if __name__ == "__main__":
    main()
