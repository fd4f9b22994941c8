"""ml-goodput-measurement's recorder into a file: a line of JSON a step, fsync at the end.

Its own logger sends each entry to Google's cloud; a line in a file is the least that a user of it
could keep. usage: goodput_file.py FILE STEPS → seconds
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from peers.goodput import recorder


class FileLog:
    def __init__(self, path: str) -> None:
        self.file = Path(path).open("w", buffering=1 << 16)  # noqa: SIM115 (it lives as long as we)

    def write_cloud_logging_entry(self, entry: dict[str, Any]) -> None:
        self.file.write(json.dumps(entry) + "\n")

    def sync(self) -> None:
        self.file.flush()
        os.fsync(self.file.fileno())


def main() -> None:
    log = FileLog(sys.argv[1])
    record = recorder(log).record_step_start_time
    begin = time.monotonic()
    for step in range(int(sys.argv[2])):
        record(step)
    log.sync()
    print(time.monotonic() - begin)


main()
