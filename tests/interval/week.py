"""A job as event lines: a week of steps, saves and failures, from a seed."""

import json
import random

STEP_S = 10.0
SLOWER = 1.05  # while a save is on its way
BLOCKING_S = 12.0
LAG_S = 60.0
RESTART_S = 50.0


class Week:
    """Tells a job that saves every `every_s` and fails `per_day` times a day."""

    def __init__(self, seed: int, every_s: float, per_day: float = 3, days: float = 7) -> None:
        self.random = random.Random(seed)
        self.every_s, self.per_day, self.end = every_s, per_day, days * 86400
        self.lines: list[dict] = []
        self.attempt, self.saved, self.failures, self.saves = 1, 0, 0, 0

    def say(self, t: float, type_: str, rank: int | str = 0, **keys: object) -> None:
        line = {"t": round(t, 3), "job": "week", "attempt": self.attempt, "rank": rank}
        self.lines.append(line | {"type": type_} | keys)

    def step(self, t: float, number: int, slow: bool) -> float:
        end = t + STEP_S * (SLOWER if slow else 1)
        self.say(t, "step", step=number)
        self.say(end, "step_end", step=number)
        return end

    def save(self, t: float, number: int) -> float:
        self.say(t, "begin", phase="checkpoint_blocked")
        t += BLOCKING_S
        self.say(t, "end", phase="checkpoint_blocked")
        self.say(t, "checkpoint", step=number, state="staged")
        self.saves += 1
        return t

    def one_attempt(self, t: float, until: float) -> None:
        number, saved_at, coming = self.saved, t, None
        while t + STEP_S * SLOWER + BLOCKING_S < until:
            number += 1
            t = self.step(t, number, slow=coming is not None)
            if coming is not None and t >= saved_at + LAG_S:
                self.say(saved_at + LAG_S, "checkpoint", step=coming, state="durable")
                self.saved, coming = coming, None
            if coming is None and t - saved_at >= self.every_s:
                t = saved_at = self.save(t, number)
                coming = number

    def tell(self) -> str:
        t = 0.0
        while True:
            self.say(t, "mark", "agent", name="launcher_start")
            rate = self.per_day / 86400
            until = t + self.random.expovariate(rate) if rate else self.end
            self.one_attempt(t, min(until, self.end))
            if until >= self.end:
                self.say(self.end, "mark", "agent", name="job_end")
                break
            self.failures += 1
            end = {"name": "failure", "of_rank": 0, "signal": 9, "origin": "infra"}
            self.say(until, "mark", "agent", **end)
            t = until + RESTART_S
            self.attempt += 1
        return "".join(json.dumps(line) + "\n" for line in self.lines)
