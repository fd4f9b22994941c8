"""A real object store on loopback (SeaweedFS), a tool that drives ours, boto3 as the witness."""

from __future__ import annotations

import json
import os
import subprocess
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from program import HEADWAY, run_headway

BUILD = HEADWAY.parent
TOOL = BUILD / "bin" / "store_tool"
WAIT_MAX_S = 60.0
BUCKET = "headway-test"
KEY_ID = "AKIDHEADWAYTEST"
SECRET = "secret+of/the=tests-0123456789abcdefghij"


@dataclass
class Server:
    port: int
    tls_port: int
    ca_file: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self) -> Any:
        import boto3
        from botocore.config import Config

        return boto3.client(
            "s3",
            endpoint_url=self.url,
            aws_access_key_id=KEY_ID,
            aws_secret_access_key=SECRET,
            region_name="us-east-1",
            config=Config(s3={"addressing_style": "path"}),
        )


def make_certificate(folder: Path) -> tuple[Path, Path]:
    key, certificate = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
        + ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
        + ["-keyout", str(key), "-out", str(certificate)],
        check=True,
        capture_output=True,
    )
    return key, certificate


def answers(url: str) -> bool:
    try:
        urllib.request.urlopen(url, timeout=5)
    except urllib.error.HTTPError:
        return True  # it says no, so it is there
    except OSError:
        return False
    return True


def weed_command(weed: str, folder: Path, ports: list[int]) -> list[str]:
    identity = {
        "name": "test",
        "credentials": [{"accessKey": KEY_ID, "secretKey": SECRET}],
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }
    (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
    (folder / "data").mkdir()
    key, certificate = make_certificate(folder)
    options = {
        "dir": folder / "data",
        "ip": "127.0.0.1",
        "ip.bind": "127.0.0.1",
        "master.telemetry": "false",
        "master.port": ports[0],
        "master.port.grpc": ports[1],
        "master.volumeSizeLimitMB": 64,
        "volume.port": ports[2],
        "volume.port.grpc": ports[3],
        "volume.max": 100,
        "filer.port": ports[4],
        "filer.port.grpc": ports[5],
        "filer.localSocket": folder / "filer.sock",
        "s3.config": folder / "s3.json",
        "s3.port": ports[6],
        "s3.port.grpc": ports[7],
        "s3.port.https": ports[8],
        "s3.key.file": key,
        "s3.cert.file": certificate,
        "s3.port.iceberg": 0,
        "s3.port.lance": 0,
        "s3.localSocket": folder / "s3.sock",
    }
    return [
        weed,
        "server",
        "-filer",
        "-s3",
        *(f"-{name}={value}" for name, value in options.items()),
    ]


@dataclass
class Tool:
    """Our side: settings by the environment, as for everybody."""

    folder: Path
    endpoint: str
    extra: dict[str, str] = field(default_factory=dict)

    def environment(self) -> dict[str, str]:
        clean = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith("AWS_") and "proxy" not in key.lower()
        }
        return clean | {
            "HOME": str(self.folder),
            "AWS_ACCESS_KEY_ID": KEY_ID,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_ENDPOINT_URL_S3": self.endpoint,
            **self.extra,
        }

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(TOOL), *arguments],
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        process = self.start(*arguments)
        out, err = process.communicate(timeout=WAIT_MAX_S)
        for secret in (self.environment()["AWS_SECRET_ACCESS_KEY"], "Signature="):
            assert secret not in out + err
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def headway(self, *arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
        """The program itself."""
        done = run_headway(*arguments, code=code, env=self.environment())
        assert SECRET not in done.stdout + done.stderr
        return done

    def json(self, *arguments: str) -> dict[str, Any]:
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def error(self, *arguments: str) -> str:
        """The one line of a run that fails."""
        done = self.run(*arguments)
        assert done.returncode == 1, (done.returncode, done.stdout, done.stderr)
        (line,) = done.stderr.splitlines()
        return line
