"""Runs before a trainer's script, when `headway run` has put this folder on PYTHONPATH.

It takes itself out of sys.path, runs the sitecustomize that it stands in front of, and hands over
to headway._auto unless this process cannot be a rank. Nothing here may fail; where the hook itself
cannot be loaded, one line says so when torch comes, which is when somebody would miss it.
"""

import os
import sys

EXIT_HOOKED = 93
EXIT_AGENT_FAULT = 125


def _own_folder() -> str:
    return os.path.dirname(os.path.abspath(__file__))


def _leave_path(folder: str) -> None:
    """sys.path as it would be without us. The package stays importable, but never in front of the
    standard library, where PYTHONPATH put it, unless the user put it there too."""
    parent = os.path.dirname(os.path.dirname(folder))
    paths = [os.path.abspath(p) if p else p for p in sys.path]
    if folder not in paths:
        return
    index = paths.index(folder)
    del sys.path[index], paths[index]
    if index >= len(paths) or paths[index] != parent:
        return
    entry = sys.path.pop(index)  # put there by the launcher too
    del paths[index]
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    given = list(dict.fromkeys(os.path.abspath(p) for p in given[2:] if p))
    if parent in given:
        sys.path.insert(index + given.index(parent), entry)
    elif parent not in paths:
        sys.path.append(entry)


def _run_shadowed() -> None:
    """The sitecustomize that Python would have run, if there is one further along sys.path."""
    ours = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
        if ours is not None:
            sys.modules["sitecustomize"] = ours


def _may_be_rank() -> bool:
    environ = os.environ
    if environ.get("HEADWAY_DISABLE") == "1" or "HEADWAY_JOB" not in environ:
        return False
    return environ.get("HEADWAY_RANK_PID") in (None, "", str(os.getpid()))


class _Warner:
    """A finder that finds nothing and sees torch being looked for."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "torch":
            sys.meta_path.remove(self)  # type: ignore[arg-type]
            line = f"headway: {self.reason}; not measuring this process"
            try:
                print(line, file=sys.stderr, flush=True)
            except Exception:
                pass


def _serve_warm() -> None:
    """This process is the fork server; only the ranks that it forks come back from here."""
    try:
        from headway import _warm

        _warm.serve()
    except BaseException:
        import traceback

        traceback.print_exc()
        os._exit(EXIT_AGENT_FAULT)


if "HEADWAY_WARM_PROBE" in os.environ:
    os._exit(EXIT_HOOKED)  # `headway run` asks whether this interpreter comes by here at all
_leave_path(_own_folder())
warm = "HEADWAY_WARM_FD" in os.environ
if warm:
    _run_shadowed()
    _serve_warm()
if _may_be_rank():
    try:
        from headway import _auto

        problem = _auto.start()
    except Exception as error:
        problem = f"the hook cannot be loaded: {type(error).__name__}: {error}"
    if problem:
        sys.meta_path.insert(0, _Warner(problem))  # type: ignore[arg-type]
if not warm:
    _run_shadowed()
