"""Two collectors on one database, and what stands before them."""

from __future__ import annotations

from pathlib import Path

from balancer import Balancer
from collecting import Collector


class Pair:
    def __init__(self, folder: Path, url: str) -> None:
        self.collectors = []
        for name in ("left", "right"):
            (folder / name).mkdir()
            collector = Collector(folder / name)
            collector.store = url  # type: ignore[assignment]
            collector.start()
            self.collectors.append(collector)
        self.balancer = Balancer([each.url for each in self.collectors])

    def logs(self) -> str:
        return "".join(each.log.read_text() for each in self.collectors)

    def end(self) -> None:
        self.balancer.close()
        for each in self.collectors:
            if each.process is not None and each.process.poll() is None:
                each.kill()
