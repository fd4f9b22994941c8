"""The job on Spark: journals of many jobs → facts → rows → sums, as Parquet. The driver's side.

    journals --(one unit of work a job)--> facts.parquet --> attempts.parquet, slices.parquet
                                      `--> errors.parquet       --> rollup.parquet

Reading journals is nearly all of the work and is done once: its result is written down before
anything is made of it, so that a worker that is lost later takes only seconds with it."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from headway.fleet import folders, rollup, shipment, tasks
from headway.fleet.place import Place, Refused
from headway.fleet.progress import Step

ROWS_PER_FILE = 2_000_000
NOTES_MAX = 20  # of a summary; errors.parquet has them all
OURS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}


def start_spark(master: str, settings: dict[str, str]) -> SparkSession:
    builder = SparkSession.builder.master(master).appName("headway fleet")
    for name, value in {**settings, **OURS}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def spread(rows: Any, files: int, *order: str) -> Any:
    """In order, in so many files. Ranges are found by reading the rows twice: not for one."""
    parts = rows.repartitionByRange(files, *order) if files > 1 else rows.repartition(1)
    return parts.sortWithinPartitions(*order)


class History:
    """One run. `options`: as __main__ parses them."""

    def __init__(self, spark: SparkSession, options: Any, extension: Any, libraries: list[str]):
        self.spark = spark
        self.options = options
        self.words = extension.bucket_words()
        self.place = Place(spark, options.out, options.replace)
        self.timings_s: dict[str, float] = {}
        self._shipped = (extension, libraries)

    def run(self) -> dict[str, Any]:
        """The summary, after the results have their name. After an error: give_up()."""
        with tempfile.TemporaryDirectory(prefix="headway-fleet-") as scratch:
            archive = Path(scratch) / f"{shipment.NAME}.tar.gz"
            shipment.pack(archive, *self._shipped)
            self.spark.sparkContext.addArchive(f"{archive}#{shipment.NAME}")
            summary = self._write_all()
            self.place.finish(summary)
            return summary

    def give_up(self) -> None:
        """Takes away what is half written. Not before its writers have been stopped."""
        self.spark.stop()
        self.place.give_up()

    def _step(self, name: str, label: str) -> Step:
        return Step(self.spark.sparkContext, label, self.timings_s, name)

    def _write_all(self) -> dict[str, Any]:
        began_s = time.monotonic()
        jobs = folders.list_jobs(self.options.journals)
        if not jobs:
            raise Refused(f"{self.options.journals}: holds no folders of jobs with journals")
        self.timings_s["list"] = round(time.monotonic() - began_s, 3)
        parts = self._read(jobs)
        self._keep_facts()
        self._write_rows()
        with self._step("rollup", "rolling up"):
            sums = rollup.roll_up(self._load("slices"), self._load("attempts"), self.words)
            sums = sums.withColumn("month", F.date_format("day", "yyyy-MM"))
            files = sums.repartition("month").sortWithinPartitions(*rollup.GROUPED_BY)
            files.write.partitionBy("month").parquet(self.place.within("rollup.parquet"))
        summary = self._summarize(jobs, parts)
        self.place.remove("read.parquet")
        return summary

    def _load(self, name: str) -> Any:
        reader = self.spark.read
        if name == "slices":  # where there is none, no file says what its columns are
            reader = reader.schema(f"{tasks.slices_schema()}, month string")
        return reader.parquet(self.place.within(f"{name}.parquet"))

    def _read(self, jobs: list[folders.Folder]) -> int:
        """Every job once, in as many tasks as suit its size."""
        context = self.spark.sparkContext
        wanted = self.options.partitions or folders.tasks_for(jobs, context.defaultParallelism)
        shares = folders.share_out(jobs, wanted)
        units = self.spark.createDataFrame(
            context.parallelize([(share,) for share in shares], len(shares)),
            "folders array<string>",
        )
        run = shipment.on_executor("attribute", self.options.journals)
        with self._step("attribute", f"attributing {len(jobs)} jobs"):
            units.mapInArrow(run, tasks.READ_SPARK_SCHEMA).write.parquet(
                self.place.within("read.parquet")
            )
        return len(shares)

    def _keep_facts(self) -> None:
        """Facts and errors apart. A job in two folders counts once: that of its name, else the
        first."""
        read = self._load("read")
        facts = read.where("fact IS NOT NULL")
        order = F.struct(
            (F.element_at(F.split("folder", "/"), -1) != F.col("job")).alias("moved"), "folder"
        )
        chosen = facts.groupBy("job").agg(
            F.min(order).alias("chosen"), F.count_distinct("folder").alias("copies")
        )
        chosen = chosen.select(
            F.col("job"), F.col("chosen.folder").alias("chosen"), F.col("copies")
        ).where("copies > 1")
        known = facts.join(F.broadcast(chosen), "job", "left")
        kept = known.where("chosen IS NULL OR chosen = folder")
        with self._step("facts", "writing facts"):
            kept.select(
                F.lit(self.options.tenant).alias("tenant"), "job", "attempt", "fact"
            ).write.parquet(self.place.within("facts.parquet"))
        again = (
            known.where("chosen <> folder")
            .select("folder", "job", "chosen")
            .distinct()
            .select(
                F.lit(self.options.tenant).alias("tenant"),
                "job",
                F.lit("job").alias("lost"),
                F.col("folder").alias("file"),
                F.concat(F.lit("the same job is in "), "chosen").alias("reason"),
            )
        )
        errors = read.where("lost IS NOT NULL").select(
            F.lit(self.options.tenant).alias("tenant"), "job", "lost", "file", "reason"
        )
        with self._step("errors", "writing errors"):
            errors.unionByName(again).coalesce(1).sortWithinPartitions("job", "file").write.parquet(
                self.place.within("errors.parquet")
            )

    def _write_rows(self) -> None:
        tenant = self.options.tenant
        facts = self._load("facts").select("job", "fact")
        files = 1 + facts.count() // ROWS_PER_FILE
        with self._step("attempts", "writing attempts"):
            rows = facts.mapInArrow(
                shipment.on_executor("attempts", tenant), tasks.attempts_schema()
            )
            spread(rows, files, "job", "attempt").write.parquet(
                self.place.within("attempts.parquet")
            )
        with self._step("slices", "writing slices"):
            rows = facts.mapInArrow(shipment.on_executor("slices", tenant), tasks.slices_schema())
            rows = rows.withColumn("month", F.date_format("day", "yyyy-MM"))
            ordered = spread(rows, files, "month", "job", "attempt", "day")
            ordered.write.partitionBy("month").parquet(self.place.within("slices.parquet"))

    def _summarize(self, jobs: list[folders.Folder], parts: int) -> dict[str, Any]:
        slices, attempts = self._load("slices"), self._load("attempts")
        errors = self._load("errors")
        with self._step("summary", "adding up"):
            groups = rollup.total_by(slices, attempts, self.words, self.options.by)
            whole = slices.agg(
                F.count_distinct("job").alias("jobs"),
                F.count_distinct("job", "attempt").alias("attempts"),
                F.min("day").alias("first_day"),
                F.max("day").alias("last_day"),
            ).first()
            notes = errors.orderBy("lost", "job", "file").limit(NOTES_MAX).collect()
            lost = {row["lost"]: row["count"] for row in errors.groupBy("lost").count().collect()}
        return {
            "journals": self.options.journals,
            "out": self.place.out,
            "jobs": whole["jobs"],
            "attempts": whole["attempts"],
            "bytes": sum(job.bytes for job in jobs),
            "tasks": parts,
            "first_day": str(whole["first_day"]) if whole["first_day"] else None,
            "last_day": str(whole["last_day"]) if whole["last_day"] else None,
            "by": self.options.by,
            "groups": groups,
            "lost": {kind: lost.get(kind, 0) for kind in ("job", "file", "records")},
            "notes": [row.asDict() for row in notes],
            "timings_s": self.timings_s,
        }
