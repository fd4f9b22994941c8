"""`headway run` in the environment of a training pod, as JobSet and Kubeflow make it."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

DEPLOY = Path(__file__).parents[2] / "deploy" / "kubernetes"
JOBSET = {
    "KUBERNETES_SERVICE_HOST": "10.0.0.1",
    "JOB_COMPLETION_INDEX": "0",
    "JOBSET_NAME": "ctr",
    "POD_NAME": "ctr-workers-0-0-x7k2p",
    "POD_NAMESPACE": "ads",
    "NODE_NAME": "gpu-17",
    "TERMINATION_GRACE_PERIOD_SECONDS": "120",
}
SAVES = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
open("ready", "w").close()
time.sleep(1000)
"""


@pytest.fixture
def pod(agent):
    agent.environment |= JOBSET | {"HEADWAY_TERMINATION_LOG": str(agent.folder / "message")}
    (agent.folder / "message").touch()
    return agent


def message(pod) -> str:
    return (pod.folder / "message").read_text()


def test_every_start_of_the_pod_is_an_allocation_of_one_job(pod):
    for _ in range(2):
        assert pod.run("--python", "python3", pod.script("pass")).returncode == 0
    assert pod.attempts("train-ctr") == [1, 65537]
    attrs = pod.journal("train-ctr", 1).attrs
    assert attrs["kubernetes_workload"] == "ctr"
    assert attrs["kubernetes_namespace"] == "ads"
    assert attrs["kubernetes_node"] == "gpu-17"
    assert attrs["termination_grace_s"] == "120"
    assert "done: job train-ctr, exit code 0" in message(pod)


def test_a_deleted_pod_that_saved_has_not_succeeded(pod, until):
    process = pod.start("--python", "python3", pod.script(SAVES))
    until((pod.folder / "ready").exists, "the rank is ready")
    process.terminate()
    process.communicate(timeout=30)
    assert process.returncode == 143, "with 0 the Job would count this pod as completed"
    journal = pod.journal("train-ctr", 1)
    assert len(journal.named("preempt_notice")) == 1
    assert not journal.named("job_end")
    assert "preempted: " in message(pod)


@pytest.mark.parametrize(
    ("text", "code", "kind"),
    [
        ("raise SystemExit(7)", 7, "user error"),
        ("1 / 0", 1, "user error"),
        ("import os; os.kill(os.getpid(), 9)", 137, "crashed"),
        ("import os; os.kill(os.getpid(), 7)", 135, "crashed"),
    ],
)
def test_codes_can_be_told_apart(pod, text, code, kind):
    assert pod.run("--python", "python3", pod.script(text)).returncode == code
    assert message(pod).startswith(f"headway: {kind}: ")


def test_an_agents_own_fault_has_a_code_of_its_own(pod):
    assert pod.run("--python", "/nowhere", pod.script("pass")).returncode == 125


def test_kubeflow_names_the_node(agent):
    agent.environment |= {
        "KUBERNETES_SERVICE_HOST": "10.0.0.1",
        "HOSTNAME": "ctr-worker-0",
        "MASTER_ADDR": "ctr-master-0",
        "MASTER_PORT": "23456",
        "WORLD_SIZE": "2",
        "RANK": "1",
        "PET_NNODES": "2",
        "PET_NPROC_PER_NODE": "1",
    }
    text = "import os; print(os.environ['RANK'], os.environ['WORLD_SIZE'])"
    done = agent.run("--python", "python3", agent.script(text))
    assert done.stdout == b"0 1\n", "pods that do not know their job's name run alone"
    assert agent.attempts("train-ctr-worker-0-node1") == [1]


def test_a_pod_of_no_training_controller_is_a_plain_machine(agent):
    agent.environment |= {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "HOSTNAME": "notebook-0"}
    assert agent.run("--job", "j", "--python", "python3", agent.script("pass")).returncode == 0
    assert "kubernetes_pod" not in agent.journal("j", 1).attrs


def small_shm(command: list[str]) -> list[str]:
    mount = 'mount -t tmpfs -o size=64m tmpfs /dev/shm && exec "$@"'
    return ["unshare", "--mount", "sh", "-c", mount, "sh", *command]


@pytest.mark.parametrize(("ranks", "warns"), [("2", True), ("1", False)])
def test_the_default_of_dev_shm_is_warned_of(pod, ranks, warns):
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run(small_shm(["true"]), capture_output=True).returncode != 0:
        pytest.skip("needs the right to mount")
    command = [pod.binary, "run", "--nproc", ranks, "--python", "python3", pod.script("pass")]
    done = subprocess.run(
        small_shm(command), env=pod.environment, cwd=pod.folder, capture_output=True, timeout=60
    )
    assert done.returncode == 0
    assert (b"/dev/shm holds 64 MiB" in done.stderr) == warns


def exit_codes(manifest: str) -> dict[str, set[int]]:
    """action → codes of the manifest's podFailurePolicy."""
    text = (DEPLOY / manifest).read_text()
    rules = re.findall(r"- action: (\w+)\n\s+onExitCodes:.*?values: \[([^\]]*)\]", text, re.DOTALL)
    return {action: {int(code) for code in codes.split(",")} for action, codes in rules}


def test_the_manifests_rules_fit_the_codes():
    rules = exit_codes("jobset.yaml")
    assert 128 + signal.SIGTERM in rules["Ignore"], "a preemption uses no retry up"
    assert {1, 2, 126, 127} <= rules["FailJob"], "the same again would fail the same"
    retried = {125, 128 + signal.SIGKILL, 128 + signal.SIGBUS, 128 + signal.SIGSEGV}
    assert not retried & (rules["FailJob"] | rules["Ignore"])


def test_the_manifests_give_what_the_agent_reads():
    for manifest in ("jobset.yaml", "pytorchjob.yaml"):
        text = (DEPLOY / manifest).read_text()
        grace = re.search(r"terminationGracePeriodSeconds: (\d+)", text)
        assert grace is not None
        stated = re.search(r"TERMINATION_GRACE_PERIOD_SECONDS\n\s+value: \"(\d+)\"", text)
        assert stated is not None and stated[1] == grace[1], manifest
        assert "medium: Memory" in text, "a /dev/shm of its own"
        for name in ("POD_NAME", "POD_NAMESPACE", "NODE_NAME", "HEADWAY_DIR"):
            assert f"name: {name}\n" in text, f"{manifest}: {name}"
