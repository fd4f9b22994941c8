"""Where results go: written beside their place and renamed into it, so that whoever looks sees the
old ones or the new ones. Through Hadoop's file systems: a folder, hdfs://, s3a://."""

from __future__ import annotations

import json
import os
import secrets
import time
from typing import Any

MARK = "headway-fleet.json"  # in every folder that is ours to replace
GIVE_UP_LOOKS, GIVE_UP_PAUSE_S = 20, 0.5
S3_CLASS = "org.apache.hadoop.fs.s3a.S3AFileSystem"


class Refused(Exception):
    """One line for a person: what is wrong and what to do."""


def check_folder(out: str, replace: bool) -> None:
    """As Place.check(), but before Java is started, for a folder of this machine."""
    if "://" in out or not os.path.lexists(out):
        return
    _check(out, replace, os.path.exists(os.path.join(out, MARK)))


def _check(out: str, replace: bool, ours: bool) -> None:
    """`out` is there already."""
    if not replace:
        raise Refused(f"{out}: is there already; give --replace, or another --out")
    if not ours:
        raise Refused(f"{out}: is not of `headway fleet` (no {MARK} in it); not replaced")


class Place:
    """One --out of one run. The driver's; one thread."""

    def __init__(self, spark: Any, out: str, replace: bool) -> None:
        self._jvm = spark.sparkContext._jvm
        self._configuration = spark.sparkContext._jsc.hadoopConfiguration()
        self.out = out.rstrip("/")
        if self.out.startswith("s3://"):
            self.out = "s3a://" + self.out.removeprefix("s3://")
        if self.out.startswith("s3a://"):
            self._need_s3()
        parent, _, name = self.out.rpartition("/")
        self.staging = f"{parent}/.{name}.partial-{secrets.token_hex(4)}"
        self._files = self._path(self.out).getFileSystem(self._configuration)
        self._replace = replace
        self.check()

    def _path(self, text: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(text)

    def _need_s3(self) -> None:
        loader = self._jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader()
        try:
            loader.loadClass(S3_CLASS)
        except Exception as error:
            raise Refused(
                f"{self.out}: this Spark has no s3a: add the package hadoop-aws of its Hadoop's "
                "version (--conf spark.jars.packages=org.apache.hadoop:hadoop-aws:VERSION), "
                "or give a folder"
            ) from error

    def check(self) -> None:
        """Refuses a place that is taken."""
        if self._files.exists(self._path(self.out)):
            ours = self._files.exists(self._path(f"{self.out}/{MARK}"))
            _check(self.out, self._replace, ours)

    def within(self, name: str) -> str:
        return f"{self.staging}/{name}"

    def remove(self, name: str) -> None:
        self._files.delete(self._path(self.within(name)), True)

    def finish(self, summary: dict[str, Any]) -> None:
        stream = self._files.create(self._path(self.within(MARK)))
        stream.write(bytearray(json.dumps(summary, indent=1).encode() + b"\n"))
        stream.close()
        self.check()  # somebody else may have been quicker
        old = self.staging.replace(".partial-", ".replaced-")
        if self._files.exists(self._path(self.out)):
            self._rename(self.out, old)
        self._rename(self.staging, self.out)
        self._files.delete(self._path(old), True)

    def _rename(self, source: str, to: str) -> None:
        if not self._files.rename(self._path(source), self._path(to)):
            raise Refused(f"{source}: cannot be renamed to {to}; what was made is there")

    def give_up(self) -> None:
        """An executor that has not heard yet makes the folder again: look a few times."""
        for _ in range(GIVE_UP_LOOKS):
            self._files.delete(self._path(self.staging), True)
            time.sleep(GIVE_UP_PAUSE_S)
            if not self._files.exists(self._path(self.staging)):
                return
