"""The classification as a specification that runs: rules.toml applied to a case of the corpus, step
by step as README.md says it. Slow and plain; an implementation is right if it agrees."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict

import tomllib

ROLES, ORIGINS = {"cause", "symptom", "outcome"}, {"infra", "user", "preemption", "unknown"}
WHERES = {"log", "kernel", "scheduler", "error_file"}
KEYS = {
    "id",
    "category",
    "role",
    "origin",
    "retryable",
    "elsewhere",
    "confidence",
    "where",
    "pattern",
    "next",
    "priority",
}
NOT_RE2 = re.compile(r"\(\?(=|!|<=|<!|>|P=|\()|\\[1-9]|\\Z|[*+?}]\+")
LAST_WORK = re.compile(r"last enqueued (?:NCCL )?work: (\d+), last completed (?:NCCL )?work: (\d+)")
NAMED = re.compile(r"\brank:? (\d+)\b")
GENERIC = 12  # rules up to this priority are fallbacks


def load_rules(path, problems):
    with open(path, "rb") as f:
        doc = tomllib.load(f)
    seen = set()
    for table in ("rule", "exit", "prefix", "noise", "progress"):
        for r in doc.get(table, []):
            if r["id"] in seen:
                problems.append(f"duplicate id {r['id']}")
            seen.add(r["id"])
            if table in ("rule", "exit"):
                if (
                    r["role"] not in ROLES
                    or r["origin"] not in ORIGINS
                    or not 0 <= r["confidence"] <= 1
                ):
                    problems.append(f"bad field in {r['id']}")
                if not re.fullmatch(r"[a-z][a-z0-9_]*", r["category"]):
                    problems.append(f"bad category in {r['id']}")
            whole = table != "rule" or (set(r) == KEYS and set(r["where"]) <= WHERES)
            if not whole or (table == "rule" and not r["where"]):
                problems.append(f"bad keys of {r['id']}")
            if "pattern" in r:
                if NOT_RE2.search(r["pattern"]):
                    problems.append(f"not RE2: {r['id']}")
                try:
                    r["re"] = re.compile(r["pattern"])
                except re.error as e:
                    problems.append(f"{r['id']}: {e}")
    return doc


def read_case(path, problems):
    c = dict(expect=None, exits={}, scheduler=[], kernel=[], error_files=[], lines=[], path=path)
    with open(path, encoding="utf-8") as f:
        for n, line in enumerate(f.read().split("\n"), 1):
            if line.startswith("#! "):
                kind, _, rest = line[3:].partition(" ")
                if kind == "expect":
                    c["expect"] = dict(kv.split("=", 1) for kv in rest.split())
                elif kind == "exit":
                    kv = dict(x.split("=", 1) for x in rest.split())
                    rank = int(kv["rank"])
                    if "signal" in kv:
                        c["exits"][rank] = ("signal", int(kv["signal"]))
                    else:
                        c["exits"][rank] = ("code", int(kv["code"]))
                elif kind == "scheduler":
                    c["scheduler"].append(rest)
                elif kind == "cgroup":
                    c["kernel"].append("cgroup " + rest)
                elif kind == "kernel":
                    c["kernel"].append(rest)
                elif kind == "error_file":
                    kv, _, js = rest.partition(" ")
                    c["error_files"].append((int(kv.split("=")[1]), json.loads(js)))
                else:
                    problems.append(f"{path}:{n}: unknown fact {kind}")
            elif line:
                m = re.match(r"\[(\d+|-)\] ?(.*)$", line)
                if not m:
                    problems.append(f"{path}:{n}: no rank prefix")
                    continue
                c["lines"].append((None if m[1] == "-" else int(m[1]), m[2]))
    e = c["expect"]
    if not e or set(e) != {"category", "role", "origin", "retryable", "rank"}:
        problems.append(f"{path}: incomplete expect")
    elif (
        e["role"] not in ROLES | {"none"}
        or e["origin"] not in ORIGINS | {"none"}
        or e["retryable"] not in ("yes", "no")
        or not re.fullmatch(r"\d+|none", e["rank"])
    ):
        problems.append(f"{path}: bad expect")
    if not c["exits"] and not c["scheduler"]:
        problems.append(f"{path}: no exit and no scheduler fact")
    return c


def verdict(rule, rank, line):
    return dict(
        category=rule["category"],
        role=rule["role"],
        origin=rule["origin"],
        retryable="yes" if rule["retryable"] else "no",
        rank="none" if rank is None else str(rank),
        proof=line,
        rule=rule["id"],
    )


NONE = dict(
    category="none", role="none", origin="none", retryable="no", rank="none", proof="", rule="-"
)
PEER_WENT = ("gloo_connection", "nccl_remote_error", "connection_error")
UNKNOWN = dict(id="-", category="unknown", role="outcome", origin="unknown", retryable=False)


class Classifier:
    def __init__(self, doc):
        self.rules = doc["rule"]
        self.prefix = doc.get("prefix", [])
        self.noise = doc.get("noise", [])
        self.progress = doc.get("progress", [])
        self.exits = {}
        for e in doc.get("exit", []):
            self.exits[("code", e["code"])] = e
            if "signal" in e:
                self.exits[("signal", e["signal"])] = e
                self.exits[("code", 256 - e["signal"])] = e  # Python's -N seen as a byte

    def best(self, text, where):
        found = [r for r in self.rules if where in r["where"] and r["re"].search(text)]
        return max(found, key=lambda r: r["priority"]) if found else None

    def scan(self, lines):
        """Per rank (priority, position, rule, line, progress) that no later progress disproves."""
        alive, counter, block, moved = defaultdict(list), {}, {}, Counter()
        for pos, (rank, raw) in enumerate(lines):
            text = raw
            for p in self.prefix:
                text = p["re"].sub("", text, count=1)
            if rank in block:  # traceback of a noise block
                if text.startswith((" ", "\t", "Traceback (most recent")) or not text:
                    continue
                del block[rank]
                continue
            hit = next((n for n in self.noise if n["re"].search(text)), None)
            if hit and hit["block"]:
                block[rank] = True
                continue
            rule = None if hit else self.best(text, "log")
            if rule:
                alive[rank].append((rule["priority"], pos, rule, raw, moved[rank]))
            elif not text.startswith((" ", "\t")):
                for p in self.progress:
                    m = p["re"].search(text)
                    if m:
                        seen = counter.setdefault(rank, {})
                        if seen.get(p["id"]) != m[1] and (p["id"] in seen or not seen):
                            moved[rank] += 1
                            # drop what lies at least `changes` new counter values back
                            alive[rank] = [
                                h for h in alive[rank] if moved[rank] - h[4] < p["changes"]
                            ]
                        seen[p["id"]] = m[1]
                        break
        return alive

    def classify(self, c):
        exits, order = c["exits"], {r: i for i, r in enumerate(c["exits"])}
        failed = [r for r, (k, v) in exits.items() if v != 0]
        sched = [(r, t) for t in c["scheduler"] if (r := self.best(t, "scheduler"))]
        kernel = [(r, t) for t in c["kernel"] if (r := self.best(t, "kernel"))]
        # 1. success: every rank left with 0 and the scheduler does not object
        if exits and not failed and not sched:
            return NONE
        # 2. evidence per rank; error files count as output at the end, in the order of their time
        lines = list(c["lines"])
        stamped = []
        for rank, js in c["error_files"]:
            msg = js["message"]
            info = msg.get("extraInfo", {}) if isinstance(msg, dict) else {}
            text = msg["message"] if isinstance(msg, dict) else msg
            stamped.append((float(info.get("timestamp", 0)), rank, text))
        for _, rank, text in sorted(stamped):
            lines += [(rank, t) for t in text.split("\n")]
        alive = self.scan(lines)
        launcher = alive.pop(None, [])  # lines of srun, slurmstepd, torchrun
        for rank in list(alive):  # scheduler lines in a rank's output
            launcher += [h for h in alive[rank] if "scheduler" in h[2]["where"]]
            alive[rank] = [h for h in alive[rank] if "scheduler" not in h[2]["where"]]
        best = {}
        for rank, hits in alive.items():
            if hits and exits.get(rank) != ("code", 0):
                best[rank] = max(hits, key=lambda h: h[:2])
        causes = sorted(
            ((h[1], r, h) for r, h in best.items() if h[2]["role"] == "cause"), key=lambda x: x[0]
        )
        strong = [x for x in causes if x[2][0] > GENERIC] or causes
        cause = strong[0] if strong else None  # (position, rank, hit)

        # 3. scheduler: preemption, time limit, maintenance win unless a rank died by itself before
        said = [(r["priority"], r, t, 10**9) for r, t in sched] + [
            (h[0], h[2], h[3], h[1]) for h in launcher if "scheduler" in h[2]["where"]
        ]
        outcome = max(
            (s for s in said if s[1]["role"] == "outcome"), key=lambda s: s[0], default=None
        )
        when = min((s[3] for s in said if s[1]["role"] == "outcome"), default=None)
        own = cause and exits.get(cause[1], ("signal", 15)) not in [
            ("signal", 15),
            ("signal", 9),
            ("code", 143),
            ("code", 137),
            ("signal", 2),
            ("code", 130),
        ]
        if outcome:
            if outcome[1]["category"] == "cancelled":
                if not own:
                    return verdict(outcome[1], None, outcome[2])
            elif not (own and when < 10**9 and cause[0] < when):
                return verdict(outcome[1], None, outcome[2])

        # 4. host out of memory: evidence, and something that was killed
        oom = [(r, t) for r, t in kernel + sched if r["category"] == "host_oom"]
        oom += [(h[2], h[3]) for h in launcher if h[2]["category"] == "host_oom"]
        if oom:
            killed = [
                r for r in failed if exits[r] in [("signal", 9), ("code", 137), ("code", 247)]
            ]
            killed += [
                r
                for r, h in sorted(best.items(), key=lambda x: x[1][1])
                if h[2]["category"] == "dataloader_killed"
            ]
            loader = [
                r for r in killed if r in best and best[r][2]["category"] == "dataloader_killed"
            ]
            victim = loader[0] if loader else killed[0] if killed else None
            if victim is not None:
                earlier = (
                    cause
                    and cause[1] != victim
                    and cause[2][2]["origin"] == "user"
                    and order.get(cause[1], 10**6) < order.get(victim, 10**6)
                )
                if not earlier:
                    return verdict(oom[0][0], victim, oom[0][1])
            elif not cause and not exits:
                return verdict(oom[0][0], None, oom[0][1])

        # 5. ranks that died of a signal (or a telling code) without a word
        silent = [
            (order[r], r, self.exits[exits[r]])
            for r in failed
            if r not in best and exits[r] in self.exits
        ]
        silent.sort(key=lambda x: x[0])
        mute = next((s for s in silent if s[2]["role"] == "cause"), None)
        first_of_all = mute and (not cause or mute[0] < order.get(cause[1], 10**6))
        quiet = mute if first_of_all else None

        # 6. kernel log: hardware explains everything but an ordinary program error
        k = max(
            (x for x in kernel if x[0]["category"] != "host_oom"),
            key=lambda x: x[0]["priority"],
            default=None,
        )
        if k and k[0]["role"] == "cause":
            log_user = cause and cause[2][2]["origin"] == "user" and cause[2][0] > GENERIC
            log_prio = cause[2][0] if cause else 0
            if not log_user and k[0]["priority"] > log_prio:
                rank = (
                    cause[1]
                    if cause
                    else quiet[1]
                    if quiet
                    else self.suspect(c, best, failed, order)[0]
                )
                return verdict(k[0], rank, k[1])
        if quiet:
            return verdict(quiet[2], quiet[1], f"exit {exits[quiet[1]]}")
        if cause:
            return verdict(cause[2][2], cause[1], cause[2][3])

        # 7. no cause: node failure, Ctrl-C, an unexplained death that came first, a symptom
        node = max(
            (s for s in said if s[1]["category"] == "node_fail"), key=lambda s: s[0], default=None
        )
        if node:
            return verdict(node[1], None, node[2])
        hung = [(r, t) for r, t in sched if r["role"] == "symptom"]
        outs = sorted((h[1], r, h) for r, h in best.items() if h[2]["role"] == "outcome")
        if outs:
            return verdict(outs[0][2][2], outs[0][1], outs[0][2][3])
        symptoms = [(h[0], -h[1], r, h) for r, h in best.items() if h[2]["role"] == "symptom"]
        symptoms += [(h[0], -h[1], None, h) for h in launcher if h[2]["role"] == "symptom"]
        first = failed[0] if failed else None
        if first is not None and first not in best and exits[first] in self.exits and not hung:
            e = self.exits[exits[first]]
            return verdict(e, first, f"exit {exits[first]}")
        left = bool(symptoms) and all(s[3][2]["category"] in PEER_WENT for s in symptoms)
        if first is not None and first not in best and left and not hung:
            return verdict(UNKNOWN, first, f"exit {exits[first]}")
        if symptoms or hung:
            rank, watchdog = self.suspect(c, best, failed, order)
            if hung:
                return verdict(hung[0][0], rank if best else None, hung[0][1])
            pick = max(
                (
                    s
                    for s in symptoms
                    if not watchdog or s[3][2]["category"] == "collective_timeout"
                ),
                key=lambda s: s[:2],
            )
            if pick[2] is None and not watchdog:  # the launcher said it: the rank it names, or none
                m = NAMED.search(pick[3][3])
                rank = int(m[1]) if m else None
            return verdict(pick[3][2], rank, pick[3][3])
        # 8. nothing
        return verdict(UNKNOWN, first, "" if first is None else f"exit {exits[first]}")

    def suspect(self, c, best, failed, order):
        """(rank, by work counters?): who lags, else who alone shows nothing, else who was first."""
        work = {}
        for rank, raw in c["lines"]:
            m = LAST_WORK.search(raw)
            if m and rank is not None:
                work[rank] = (int(m[1]), int(m[2]))
        known = set(c["exits"]) | {r for r, _ in c["lines"] if r is not None}
        if work:
            low = min(work.values())
            lag = [r for r, w in work.items() if w == low]
            if len(lag) == 1 and len(work) > 1:
                return lag[0], True
            rest = sorted(known - set(work))
            if len(rest) == 1:
                return rest[0], True
        timed = {
            r
            for r, h in best.items()
            if h[2]["category"] in ("collective_timeout", "hang", "rendezvous_timeout")
        }
        rest = sorted(known - timed)
        if timed and len(rest) == 1 and len(known) > 1:
            return rest[0], bool(work)
        if len(timed) > 1 and not rest:
            return None, bool(work)  # all of them wait, none of them is the one
        seen = sorted((h[1], r) for r, h in best.items())
        if seen:
            return seen[0][1], bool(work)
        return (failed[0] if failed else None), bool(work)
