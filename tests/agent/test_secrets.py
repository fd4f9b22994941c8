"""A secret on a command line or in an exception's message is kept where the job is, and leaves
it by no verb. Every secret here is made up, and put together so that no scanner takes one for
real."""

from __future__ import annotations

import subprocess

import pytest

TOKEN = "gh" + "p_" + "FAKEfake0123" * 3
PASSWORD = "hunter2"
ADDRESS_PASSWORD = "swordfish9"
SECRETS = (TOKEN, PASSWORD, ADDRESS_PASSWORD, "correct", "horse")
SCRIPT = """
import sys
raise ValueError("no answer from " + sys.argv[-1])
"""


@pytest.fixture
def job(hooked) -> None:
    script = hooked.script(SCRIPT)
    done = hooked.run(
        "--python", "python3", "--job", "j",
        "--attr", "db_password=correct horse", "--attr", f"note=pushed with {TOKEN}",
        script, "--password", PASSWORD, f"--api-key={TOKEN}", f"db://me:{ADDRESS_PASSWORD}@host/x",
    )  # fmt: skip
    assert done.returncode == 1


@pytest.mark.parametrize(
    "words",
    [
        ["report", "j", "--width", "300"],
        ["report", "j", "--json"],
        ["why", "j"],
        ["why", "j", "--json"],
        ["export", "j", "--format", "jsonl"],
        ["export", "j", "--format", "csv"],
        ["export", "j", "--format", "perfetto"],
        ["export", "j", "--format", "openmetrics"],
    ],
    ids=" ".join,
)
def test_no_verb_tells_a_secret(hooked, job, words):
    done = subprocess.run(
        [hooked.binary, *words], env=hooked.environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    for secret in SECRETS:
        assert secret not in done.stdout + done.stderr
    if "openmetrics" not in words and "why" not in words:
        assert "--password [redacted:password]" in done.stdout
        assert "db://me:[redacted:password]@host/x" in done.stdout  # said by the exception too


def test_the_journals_keep_what_was_written(hooked, job):
    attrs = hooked.journal("j", 1).attrs
    assert f"--password {PASSWORD}" in attrs["argv"]
    assert attrs["db_password"] == "correct horse"


def test_a_word_with_spaces_is_one_secret(hooked):
    script = hooked.script("")
    hooked.run("--python", "python3", "--job", "j", script, "--password", "correct horse", "last")
    assert hooked.journal("j", 1).attrs["argv"].endswith("--password 'correct horse' last")
    done = subprocess.run(
        [hooked.binary, "report", "j", "--json"], env=hooked.environment, capture_output=True
    )
    assert b"--password '[redacted:password]' last" in done.stdout
