"""import headway as hw: what a script may say, and that saying it is always safe."""

from __future__ import annotations

from launching import Launcher

RECORD = """
    import os, sys
    import headway as hw
    assert not hw.stats()["active"]
    assert hw.init(job="mine", dir=sys.argv[1]) and hw.init()
    with hw.phase("load"), hw.phase("pre_train"):
        pass
    @hw.phase("score")
    def score(x, *, y=1):
        "doc"
        return x + y
    assert score(1, y=2) == 3 and score.__doc__ == "doc" and score.__name__ == "score"
    hw.attr("family", "dlrm")
    hw.mark("preempt_notice")
    with hw.checkpoint_blocked():
        hw.checkpoint_staged(4, 40)
    hw.checkpoint_durable(4)
    state = {"step": 10}
    for i, batch in enumerate(hw.steps([1, 2, 3], state, data_per_step=8)):
        if i == 1:
            break
    assert state["step"] == 12, state
    hw.restore(5, 50, tier="replica")
    for batch in hw.steps(range(1)):
        pass
    print(hw.stats()["records"] > 0)
"""


def test_everything_said_is_recorded(launch: Launcher) -> None:
    result = launch.run(launch.script(RECORD), launch.folder / "root", hook=False)
    assert result.code == 0, result.err
    assert result.out == "True\n"
    result.folder = launch.folder / "root"
    journal = result.journal
    journal.check_nesting()
    assert [r.name for r in journal.of("begin")][:3] == ["load", "pre_train", "score"]
    assert journal.attrs() == {"family": "dlrm"}
    assert [r.name for r in journal.of("mark")] == ["preempt_notice"]
    assert [(r.name, r.a, r.b) for r in journal.of("checkpoint")] == [
        ("staged", 4, 40),
        ("durable", 4, None),
    ]
    assert [(r.name, r.a, r.b) for r in journal.of("restore")] == [("replica", 5, 50)]
    assert journal.step_ends() == [(11, 88), (12, 96), (6, None)]
    assert len(journal.spans("get_first_batch_data")) == 1


def test_a_second_run_is_the_next_attempt(launch: Launcher) -> None:
    script = launch.script(RECORD)
    for _ in range(2):
        assert launch.run(script, launch.folder / "root", hook=False).code == 0
    assert sorted(p.name for p in (launch.folder / "root" / "mine").iterdir()) == ["1", "2"]


def test_every_call_is_safe_without_a_journal(launch: Launcher) -> None:
    text = """
    import os, sys
    if sys.argv[1] == "broken":
        import importlib
        real = importlib.import_module
        def fake(name, *a):
            if name == "headway._core":
                raise ImportError(name)
            return real(name, *a)
        importlib.import_module = fake
    import headway as hw
    if sys.argv[1] == "broken":
        assert not hw.init(job="x")
    elif sys.argv[1] == "disabled":
        assert not hw.init(job="x")
    assert not hw.stats()["active"]
    with hw.phase("a"), hw.checkpoint_blocked():
        hw.attr("k", 1); hw.mark("exit"); hw.checkpoint_staged(1); hw.checkpoint_durable(1, 2)
        hw.restore(3)
    assert hw.phase("b")(len)([1]) == 1
    class State: step = 3
    assert list(hw.steps("abc", State)) == ["a", "b", "c"] and State.step == 6
    try:
        hw.mark("no_such_mark")
    except ValueError as error:
        print(error)
    """
    script = launch.script(text)
    for kind, env in (("plain", {}), ("broken", {}), ("disabled", {"HEADWAY_DISABLE": "1"})):
        result = launch.run(script, kind, hook=False, env=env)
        assert result.code == 0, (kind, result.err)
        assert result.out.startswith("headway.mark: 'no_such_mark' is not one of")
        assert result.err == ""


def test_an_exception_in_the_loop_ends_the_step(launch: Launcher) -> None:
    text = """
    import sys, headway as hw
    hw.init(job="mine", dir=sys.argv[1])
    state = {}
    try:
        for x in hw.steps(iter([1, 2, 0]), state, data_per_step=1):
            1 / x
    except ZeroDivisionError:
        print(state)
    """
    result = launch.run(launch.script(text), launch.folder / "root", hook=False)
    assert (result.code, result.out) == (0, "{'step': 3}\n"), result.err
    result.folder = launch.folder / "root"
    assert result.journal.step_ends() == [(1, 1), (2, 2), (3, 3)]
    result.journal.check_nesting()


def test_a_forked_child_may_call_everything(launch: Launcher) -> None:
    text = """
    import os, sys, headway as hw
    hw.init(job="mine", dir=sys.argv[1])
    pid = os.fork()
    with hw.phase("both"):
        hw.attr("who", "child" if pid == 0 else "parent")
    if pid == 0:
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    with hw.phase("after"):
        pass
    """
    result = launch.run(launch.script(text), launch.folder / "root", hook=False)
    assert result.code == 0, result.err
    result.folder = launch.folder / "root"
    rows = result.journal.of("begin", "both")
    assert len({row.lane for row in rows}) == 2
    assert result.journal.of("begin", "after")[0].lane == 0
