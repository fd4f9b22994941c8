"""The fork server: imports, then waits for the agent to ask for ranks. docs/formats/warm.md."""

from __future__ import annotations

import array
import gc
import json
import os
import select
import socket
import sys
import time
from typing import Any

from headway import _compile
from headway._recorder import core
from headway._warm import FD_VARIABLE, birth, compile_ahead, fitness, preload, scan
from headway._warm.become import Rank, take_environment, take_parent, take_streams, take_thread
from headway._warm.memory import FILE_VARIABLE, SKIP_VARIABLE, Memory

PRELOAD_VARIABLE = "HEADWAY_WARM_PRELOAD"  # names with commas between, from --preload
TRIES_VARIABLE = "HEADWAY_WARM_TRIES"
TRIES_MAX = 8
FAILED_TOLD_MAX = 20
MESSAGE_BYTES_MAX = 1 << 20
FDS_MAX = 250
RANKS_A_PARENT = 4  # a rank's parent forks so many before it ends and the agent becomes theirs
OWN_VARIABLES = (
    FD_VARIABLE,
    FILE_VARIABLE,
    SKIP_VARIABLE,
    PRELOAD_VARIABLE,
    TRIES_VARIABLE,
    preload.IDENTITY_VARIABLE,
)


class Server:
    def __init__(self, fd: int) -> None:
        os.set_inheritable(fd, False)
        self.channel = socket.socket(fileno=fd)
        self.memory = Memory()
        self.script, folder = scan.script_of(sys.orig_argv)
        self.preloader = preload.Preloader(self.memory.skip, folder)
        self.learn_read, self.learn_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self.ready_ns = 0
        self.hopeless = ""
        self.compiled = False
        self.wanted: list[str] = []  # still to be imported, the last one first
        self.idle = False  # ranks train: there is time for what the next ones can do without

    def run(self) -> None:
        """Returns in a rank."""
        own_name = _rename("headway-warm")
        core.import_clock_start()
        self._load(self._first_names())
        self._settle()
        self.ready_ns = time.monotonic_ns()
        self._tell(ready=len(sys.modules), skipped=self.memory.skip, failed=self._failed())
        while True:
            idle_s = 0 if self.wanted or self.idle else None
            ready, _, _ = select.select([self.channel, self.learn_read], [], [], idle_s)
            if self.channel in ready:
                self.wanted.clear()  # ranks that start need the processor; the memory has the names
                self.idle = False
                if self._serve_request():
                    _rename(own_name)
                    return
            elif self.learn_read in ready:
                self._learn()
            elif self.wanted:
                self._import_next()
            else:
                self.idle = False
                self._compile_ahead()

    # ---- imports

    def _first_names(self) -> list[str]:
        known = self.memory.modules
        return _listed() + (known or scan.installed_imports(self.script, self.preloader.folder))

    def _failed(self) -> dict[str, str]:
        """What somebody has named and could not be imported. The rest was only a guess."""
        failed = self.preloader.failed
        named = [name for name in _listed() if name in failed][:FAILED_TOLD_MAX]
        return {name: failed[name] for name in named}

    def _load(self, names: list[str]) -> None:
        try:
            self.preloader.load(names)
        except preload.Taint as taint:
            self.memory.skip.update(taint.packages)
            self.memory.save()
            self._begin_again()

    def _settle(self) -> None:
        """All that is wanted is imported."""
        preload.warm_up()
        self._freeze()

    def _freeze(self) -> None:
        gc.collect()
        gc.freeze()  # a collection in a rank would copy every page that it marks

    def _compile_ahead(self) -> None:
        """Once, when ranks train: the first start would only wait for it. Where it leaves a thread
        behind this process is lost, and never does it again."""
        if self.compiled or compile_ahead.SKIP in self.memory.skip:
            return
        if not compile_ahead.wanted(self.memory.modules):
            return
        self.compiled = True
        _compile.arm()
        compile_ahead.run()
        if fitness.extra_threads():
            self.memory.skip[compile_ahead.SKIP] = "leaves a thread"
            self.memory.save()
            self._begin_again()
        self._freeze()

    def _begin_again(self) -> None:
        tries = int(os.environ.get(TRIES_VARIABLE, "0")) + 1
        os.environ[TRIES_VARIABLE] = str(tries)
        if tries > TRIES_MAX:
            package, why = list(self.memory.skip.items())[-1]
            self.hopeless = f"{package} {why}"
            return
        os.set_inheritable(self.channel.fileno(), True)
        os.execv(sys.executable, sys.orig_argv)

    def _learn(self) -> None:
        told = os.read(self.learn_read, 65536).decode().split("\n")
        names: list[str] = []
        for path in filter(None, told):
            try:
                with open(path, encoding="utf-8") as file:
                    names = json.load(file)
                os.unlink(path)
            except (OSError, ValueError):
                continue
        if not names:
            return
        self.memory.modules = names
        self.memory.save()
        self.wanted = [name for name in reversed(names) if name not in sys.modules]
        self.idle = True

    def _import_next(self) -> None:
        """One at a time, so that a request waits for one import at most."""
        name = self.wanted.pop()
        if name not in sys.modules:  # another one may have brought it in
            self._load([name])
        if not self.wanted:
            self._settle()

    # ---- requests

    def _tell(self, **message: Any) -> None:
        try:
            self.channel.send(json.dumps(message).encode())
        except OSError:
            os._exit(0)  # nobody is there to fork for

    def _receive(self) -> tuple[dict[str, Any], list[int]]:
        fds = array.array("i")
        space = socket.CMSG_SPACE(FDS_MAX * fds.itemsize)
        data, control, _, _ = self.channel.recvmsg(
            MESSAGE_BYTES_MAX, space, socket.MSG_CMSG_CLOEXEC
        )
        if not data:
            os._exit(0)  # the agent is gone or done
        for level, kind, payload in control:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds.frombytes(payload[: len(payload) - len(payload) % fds.itemsize])
        return json.loads(data), list(fds)

    def _serve_request(self) -> bool:
        request, fds = self._receive()
        changed = self.preloader.changed()
        problem = self.hopeless or fitness.unfit()
        if not problem and changed:
            problem = f"{changed} has changed since it was imported"
        if problem:
            for fd in fds:
                os.close(fd)
            self._tell(unfit=problem)
            if changed:
                self._begin_again()
            return False
        rank = self._fork(request, fds)
        if rank is None:
            for fd in fds:
                os.close(fd)
            return False
        self._become(
            rank, first=bool(request["learn"] and rank.environment.get("LOCAL_RANK") == "0")
        )
        return True

    def _fork(self, request: dict[str, Any], fds: list[int]) -> Rank | None:
        """The rank that this process has become; None in the server."""
        sys.stdout.flush()
        sys.stderr.flush()
        ranks = request["ranks"]
        parents = []
        for first in range(0, len(ranks), RANKS_A_PARENT):
            try:
                parent = os.fork()
            except OSError as error:
                self._tell(unfit=f"fork: {error.strerror}")
                break
            if parent:
                parents.append(parent)
                continue
            for index in range(first, min(first + RANKS_A_PARENT, len(ranks))):
                if self._fork_rank(request, index):
                    streams = fds[3 * index : 3 * index + 3]
                    for fd in set(fds) - set(streams):
                        os.close(fd)
                    return Rank(
                        environment=ranks[index]["set"],
                        removed=ranks[index]["unset"],
                        streams=streams,
                        agent=request["agent"],
                        asked_ns=request["asked_ns"],
                    )
            os._exit(0)
        for parent in parents:
            os.waitpid(parent, 0)
        return None

    def _fork_rank(self, request: dict[str, Any], index: int) -> bool:
        """True in the rank."""
        try:
            pid = os.fork()
        except OSError as error:
            self._tell(unfit=f"fork: {error.strerror}")
            return False
        if pid == 0:
            if request["own_group"]:
                os.setpgid(0, 0)
            return True
        if request["own_group"]:
            try:
                os.setpgid(pid, pid)  # both sides: whoever is first
            except OSError:
                pass
        self._tell(rank=request["ranks"][index]["rank"], pid=pid)
        return False

    def _become(self, rank: Rank, first: bool) -> None:
        waited = rank.asked_ns < self.ready_ns
        self.channel.close()
        os.close(self.learn_read)
        birth.warm = True
        birth.began_ns = rank.asked_ns if waited else time.monotonic_ns()
        if first and self.memory.path:
            birth.learn_fd = self.learn_write
            birth.learn_file = self.memory.path
        else:
            os.close(self.learn_write)
        birth.imports_ahead = not waited
        if not waited:
            core.import_clock_reset()  # what the server did long ago is not this start's
        take_thread()
        take_streams(rank)
        take_environment(rank)
        for name in OWN_VARIABLES:
            os.environ.pop(name, None)
        take_parent(rank)
        preload.reseed(self.preloader.seeded)


def _listed() -> list[str]:
    return [name for name in os.environ.get(PRELOAD_VARIABLE, "").split(",") if name]


def _rename(name: str) -> str:
    """What `top` and `pgrep` show; returns what it was."""
    with open("/proc/self/comm", "r+", encoding="utf-8") as file:
        before = file.read().rstrip("\n")
        file.seek(0)
        file.write(name)
    return before
