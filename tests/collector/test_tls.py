"""A collector behind a certificate: who gets through, and what the others are told."""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from collecting import HEADWAY, Collector
from loading import Shape, local_report, write_journals
from test_hostile import connect, status_of, talk

SHAPE: Shape = {"jobs": 1, "ranks": 8, "steps": 40, "step-ms": 100, "begin-ns": 10**18}
JOB = "load-0000"


def openssl(*words: str) -> None:
    subprocess.run(["openssl", *words], check=True, capture_output=True)


class Authority:
    """One of our own, and a certificate for 127.0.0.1 by it."""

    def __init__(self, folder: Path, name: str) -> None:
        folder.mkdir()
        self.file = folder / "authority.pem"
        key = folder / "authority.key"
        new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        openssl(
            *["req", "-x509", *new_key, "-keyout", str(key), "-out", str(self.file)],
            *["-days", "2", "-subj", f"/CN={name}"],
        )
        self.certificate, self.key = folder / "server.pem", folder / "server.key"
        asked = folder / "server.csr"
        openssl(
            *["req", *new_key, "-keyout", str(self.key), "-out", str(asked)],
            *["-subj", "/CN=collector"],
        )
        names = folder / "names"
        names.write_text("subjectAltName=IP:127.0.0.1\n")
        openssl(
            *["x509", "-req", "-in", str(asked), "-out", str(self.certificate), "-days", "2"],
            *["-CA", str(self.file), "-CAkey", str(key), "-CAcreateserial"],
            *["-extfile", str(names)],
        )


def ship(folder: Path, url: str, **environment: str) -> dict[str, Any]:
    done = subprocess.run(
        [HEADWAY, "ship", JOB, "--to", url, "--json", "--every-host", "--wait", "2s"],
        env=os.environ | {"HEADWAY_DIR": str(folder)} | environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout, done.stderr
    return json.loads(done.stdout) | {"code": done.returncode, "stderr": done.stderr}


@pytest.fixture
def journals(tmp_path: Path) -> Path:
    folder = tmp_path / "jobs"
    write_journals(SHAPE, folder)
    return folder


def test_tls(collector: Collector, tmp_path: Path, journals: Path) -> None:
    ours, theirs = Authority(tmp_path / "ours", "ours"), Authority(tmp_path / "theirs", "theirs")
    collector.start("--tls-cert", str(ours.certificate), "--tls-key", str(ours.key))
    url = f"https://127.0.0.1:{collector.port}"
    for trusted in (theirs.file, tmp_path / "nothing.pem", None):
        given = {"HEADWAY_CA_FILE": str(trusted)} if trusted else {}
        refused = ship(journals, url, **given)
        assert refused["code"] == 1 and refused["records"] == 0, refused
        assert refused["stderr"].count("\n") == 1, refused
        assert "certificate" in refused["stderr"] and "HEADWAY_CA_FILE" in refused["stderr"], (
            refused
        )
    sent = ship(journals, url, HEADWAY_CA_FILE=str(ours.file))
    assert sent["code"] == 0 and sent["complete"], sent
    context = ssl.create_default_context(cafile=str(ours.file))
    with urllib.request.urlopen(f"{url}/api/v1/jobs/{JOB}/report", context=context) as answer:
        assert json.load(answer) == local_report(journals, JOB)


def test_who_comes_to_no_handshake_is_in_the_audit(collector: Collector, tmp_path: Path) -> None:
    """Who sends nonsense, speaks what is too old or does not trust us; not who says nothing."""
    ours = Authority(tmp_path / "ours", "ours")
    collector.start("--tls-cert", str(ours.certificate), "--tls-key", str(ours.key))
    hello = b"\x03\x01" + bytes(32) + b"\x00" + b"\x00\x02\x00\x2f" + b"\x01\x00"  # of TLS 1.0
    message = b"\x01" + len(hello).to_bytes(3, "big") + hello
    talk(collector, b"")
    talk(collector, b"\x16\x03\x01")  # the beginning of a record, and no more
    talk(collector, bytes(100))
    talk(collector, b"\x16\x03\x01" + len(message).to_bytes(2, "big") + message)
    with pytest.raises(ssl.SSLCertVerificationError):
        ssl.create_default_context().wrap_socket(connect(collector), server_hostname="127.0.0.1")
    assert collector.stop() == 0
    rows = [json.loads(line) for line in collector.log.read_text().splitlines() if line[0] == "{"]
    whys = [row["why"] for row in rows]
    assert len(rows) == 4 and all(row["status"] == 0 for row in rows), rows
    assert all(why.startswith("no TLS handshake: ") for why in whys), whys
    assert "wrong version number" in whys[1] and "unsupported protocol" in whys[2], whys
    assert "unknown ca" in whys[3], whys


def test_plain_http_is_told_so(collector: Collector, tmp_path: Path, journals: Path) -> None:
    ours = Authority(tmp_path / "ours", "ours")
    collector.start("--tls-cert", str(ours.certificate), "--tls-key", str(ours.key))
    said = talk(collector, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    assert status_of(said) == 400 and b"takes https" in said, said
    refused = ship(journals, f"http://127.0.0.1:{collector.port}")
    assert refused["records"] == 0 and "takes https" in refused["stderr"], refused
    for nonsense in (b"", b"\x16\x03\x01", bytes(100), os.urandom(1000)):
        talk(collector, nonsense)
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.load_verify_locations(ours.file)
    old.minimum_version = ssl.TLSVersion.TLSv1_2
    with urllib.request.urlopen(
        f"https://127.0.0.1:{collector.port}/healthz", context=old
    ) as answer:
        assert json.load(answer) == {"status": "ok"}
