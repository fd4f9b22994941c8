"""A machine that trains, and a store that its checkpoints go to."""

from __future__ import annotations

import json
import re
import subprocess
import uuid
from pathlib import Path
from typing import Any

import warm_python
from replica_machine import HEADWAY, SCRIPTS, Machine, wait_until
from store_stage import BUCKET, KEY_ID, SECRET, Server

TRAIN = SCRIPTS / "train.py"
OWN_SCRIPTS = Path(__file__).parent / "scripts"


class TierMachine(Machine):
    def __init__(self, tmp_path: Path, server: Server) -> None:
        super().__init__(tmp_path)
        self.place = f"s3://{BUCKET}/tier-{uuid.uuid4().hex[:8]}"
        self.server = server
        for key in [key for key in self.env if key.startswith("AWS_") or "proxy" in key.lower()]:
            self.env.pop(key)
        self.env |= {
            "HOME": str(tmp_path),
            "AWS_ACCESS_KEY_ID": KEY_ID,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_ENDPOINT_URL_S3": server.url,
            "HEADWAY_CKPT_UPLOAD": self.place,
            "PLACE": self.place,
            "HEADWAY_CKPT_UPLOAD_WAIT": "60s",
            "SURE": "1",  # every step is saved: none finds its slot busy
        }

    def train(self, *, code: int | None = 0, **variables: object) -> str:
        job = ["run", "--nproc", 2, "--job", "j", TRAIN]
        return self.clean(self.headway(*job, code=code, **variables))

    def alone(self, script: str, code: int | None = 0, **variables: object) -> str:
        env = {**self.env, **{key: str(value) for key, value in variables.items()}}
        done = warm_python.run([str(OWN_SCRIPTS / script)], env, timeout_s=120)
        assert code is None or done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return self.clean(done.stdout + done.stderr)

    def clean(self, output: str) -> str:
        """No secret in what was said, nor in what was written."""
        assert SECRET not in output
        for folder in (self.jobs, self.checkpoints, self.memory):
            for path in folder.rglob("*"):
                if path.is_file() and ".slot-" not in path.name:
                    assert SECRET.encode() not in path.read_bytes(), path
        return output

    def background(self, **variables: object) -> Background:
        return Background(self, variables)

    def stored(self) -> list[dict[str, Any]]:
        """Whole ones in the store, the newest first, asked for directly."""
        text = self.headway("ckpt", "ls", self.place, "--json", AWS_ENDPOINT_URL_S3=self.server.url)
        found = json.loads(text)["checkpoints"]
        assert all(one["state"] in ("good", "unfinished") for one in found), found
        return [one for one in found if one["state"] == "good"]

    def verify_stored(self) -> None:
        text = self.headway(
            "ckpt", "verify", self.place, "--json", AWS_ENDPOINT_URL_S3=self.server.url
        )
        assert json.loads(text)["good"], text


class Background:
    """`headway run` beside the test."""

    def __init__(self, machine: TierMachine, variables: dict[str, object]) -> None:
        self.log = machine.tmp / "output"
        with open(self.log, "a") as file:
            self.process = subprocess.Popen(
                [str(HEADWAY), "run", "--nproc", "2", "--job", "j", str(TRAIN)],
                env={**machine.env, **{key: str(value) for key, value in variables.items()}},
                stdout=file,
                stderr=file,
            )

    def wait_for(self, text: str) -> None:
        wait_until(lambda: text in self.log.read_text(), text)

    def end(self) -> str:
        assert self.process.wait(timeout=120) == 0, self.log.read_text()
        return self.log.read_text()


def ends_of(output: str) -> list[str]:
    return sorted(re.findall(r"^\[\d\] rank \d end (.*)$", output, re.MULTILINE))
