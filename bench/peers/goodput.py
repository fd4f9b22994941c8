"""ml-goodput-measurement 0.2.3, run without its cloud.

Both of its classes accept a logger object in place of the one that talks to Google Cloud Logging
(its own tests do the same). The loggers here do less work than the real one, so whatever is
measured through them is a lower bound of what a user of the peer pays.
"""

import datetime
import tempfile
from bisect import bisect_right
from typing import Any

from ml_goodput_measurement.src.goodput import GoodputCalculator, GoodputRecorder

JOB = "bench"
UTC = datetime.timezone.utc
STEP_S = 0.1
Entry = dict[str, Any]


class NullLog:
    """Takes an entry and forgets it: the cost of making the entry alone."""

    def write_cloud_logging_entry(self, entry: Entry) -> None:
        pass


class ListLog:
    """Keeps entries in memory, in order, and answers a read of a stretch of time."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.times: list[datetime.datetime] = []

    def write_cloud_logging_entry(self, entry: Entry) -> None:
        self.entries.append(entry)

    def add(self, when: datetime.datetime, entry: Entry) -> None:
        self.times.append(when)
        self.entries.append(entry)

    def read_cloud_logging_entries(
        self,
        start_time: datetime.datetime | None = None,
        end_time: datetime.datetime | None = None,
        last_entry_info: tuple[datetime.datetime, str] | None = None,
    ) -> tuple[list[Entry], tuple[datetime.datetime, str] | None]:
        first = 0 if start_time is None else bisect_right(self.times, start_time)
        end = len(self.times) if end_time is None else bisect_right(self.times, end_time)
        last = (self.times[end - 1], str(end)) if end > first else None
        return self.entries[first:end], last


def recorder(log: NullLog | ListLog) -> GoodputRecorder:
    return GoodputRecorder(JOB, "log", logging_enabled=True, cloud_logger=log)


class QueryCase:
    """A finished stretch of `steps` steps with one restart in the middle, ready to be queried.

    The restart repeats a tenth of the steps before it, so that there is replay to account for.
    Times end a minute before now: the peer reads the clock itself.
    """

    def __init__(self, steps: int) -> None:
        self.log = ListLog()
        self.step = 0
        self._folder = tempfile.TemporaryDirectory(prefix="goodput-")
        replay = steps // 10
        total_s = (steps + replay) * STEP_S + 140
        self.now = datetime.datetime.now(UTC) - datetime.timedelta(seconds=total_s + 60)
        self._start_attempt()
        for _ in range(steps // 2):
            self.add_step()
        self.step -= replay
        self._start_attempt()
        for _ in range(steps // 2 + replay):
            self.add_step()
        self.calculator = GoodputCalculator(
            JOB, "log", cloud_logger=self.log, cache_dir=self._folder.name
        )

    def _mark(self, key: str, seconds: float) -> None:
        self.now += datetime.timedelta(seconds=seconds)
        self.log.add(self.now, {"job_name": JOB, key: self.now.timestamp()})

    def _start_attempt(self) -> None:
        self._mark("job_start_time", 10)
        self._mark("tpu_init_start_time", 1)
        self._mark("tpu_init_end_time", 20)
        self._mark("training_prep_start_time", 1)
        self._mark("training_prep_end_time", 30)
        self._mark("data_loading_start_time", 1)
        self._mark("data_loading_end_time", 5)

    def add_step(self) -> None:
        self.now += datetime.timedelta(seconds=STEP_S)
        entry = {
            "job_name": JOB,
            "step_count": self.step,
            "step_start_time": self.now.timestamp(),
        }
        self.log.add(self.now, entry)
        self.step += 1

    def query(self) -> float:
        """Goodput in percent, of everything logged so far."""
        goodput, _, _ = self.calculator.get_job_goodput(include_badput_breakdown=True)
        return goodput

    def query_window(self, index: int) -> float:
        """Goodput of three fifths of the log. A higher index asks for an earlier window, which the
        peer cannot answer from the one before: an arbitrary window, as ours are."""
        first = (len(self.log.times) // 5) - index
        window = self.log.times[first], self.log.times[first + 3 * len(self.log.times) // 5]
        return self.calculator.get_job_goodput_interval(*window)[0]

    def close(self) -> None:
        self._folder.cleanup()
