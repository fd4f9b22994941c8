"""Sums over attempts, in Spark's words. Device time is devices x nanoseconds: a fleet's year is
more than 64 bits hold, so its sums are decimal(38, 0), and ANSI mode makes an overflow an error.

What counts how is as in src/fleet/rollup.h: wall time on its own days, starts on the day on which
they began, failures on the day on which they happened."""

from __future__ import annotations

from typing import Any

from pyspark.sql import functions as F

GROUPED_BY = ("day", "family", "team", "cluster", "hardware", "size", "torch", "priority")
DAY_NS = 86_400_000_000_000


def device_ns(column: str) -> Any:
    """31 digits at most; Spark makes 38 of their sum."""
    return F.col(column).cast("decimal(20,0)") * F.col("devices").cast("decimal(10,0)")


def day_of(column: str) -> Any:
    """In integers throughout: an instant in nanoseconds has more bits than a double."""
    days = F.expr(f"CAST(({column} - pmod({column}, {DAY_NS}L)) div {DAY_NS}L AS INT)")
    return F.date_add(F.lit("1970-01-01").cast("date"), days)


def times(words: list[str]) -> dict[str, str]:
    """Columns of a slice → those of a sum of device time."""
    names = {f"{word}_ns": f"{word}_device_ns" for word in words}
    return names | {"failure_ns": "failure_device_ns", "queued_ns": "queued_device_ns"}


def roll_up(slices: Any, attempts: Any, words: list[str]) -> Any:
    """A row for every day and combination of dimensions."""
    sums = times(words)
    told = slices.select(
        *GROUPED_BY,
        *(device_ns(column).alias(name) for column, name in sums.items()),
        F.col("job"),
        F.lit(1).alias("attempts"),
        F.col("saves"),
    )
    begun = attempts.where("start_from_ns IS NOT NULL").withColumn("day", day_of("start_from_ns"))
    begun = begun.select(
        *GROUPED_BY,
        (~F.col("start_recovery")).cast("bigint").alias("starts"),
        F.col("start_recovery").cast("bigint").alias("recoveries"),
        F.expr("IF(start_recovery, 0L, start_trained_ns - start_from_ns)").alias("start_ns"),
        F.expr("IF(start_recovery, start_trained_ns - start_from_ns, 0L)").alias("recovery_ns"),
    )
    failed = attempts.where("failure_t_ns IS NOT NULL").withColumn("day", day_of("failure_t_ns"))
    failed = failed.select(
        *GROUPED_BY,
        F.expr("IF(failure_origin IN ('infra', 'unknown'), 1L, 0L)").alias("failures"),
        F.expr("IF(failure_origin = 'user', 1L, 0L)").alias("user_errors"),
        F.expr("IF(failure_origin = 'preemption', 1L, 0L)").alias("preemptions"),
        device_ns("failure_unsaved_ns").alias("unsaved_device_ns"),
    )
    nothing = F.lit(0).cast("decimal(38,0)")
    all_of_it = told.unionByName(begun, True).unionByName(failed, True)
    counts = ("attempts", "saves", "starts", "recoveries", "failures", "user_errors", "preemptions")
    lengths = ("start_ns", "recovery_ns", "unsaved_device_ns")
    return all_of_it.groupBy(*GROUPED_BY).agg(
        F.count_distinct("job").alias("jobs"),
        *(F.coalesce(F.sum(name), F.lit(0)).cast("bigint").alias(name) for name in counts),
        *(
            F.coalesce(F.sum(F.col(name).cast("decimal(38,0)")), nothing).alias(name)
            for name in lengths
        ),
        *(F.coalesce(F.sum(name), nothing).alias(name) for name in sums.values()),
    )


def total_by(slices: Any, attempts: Any, words: list[str], dimension: str) -> list[dict[str, Any]]:
    """The same for all days, by one dimension: what a person is shown. Sums as texts of digits."""
    sums = times(words)
    told = slices.groupBy(dimension).agg(
        F.count_distinct("job").alias("jobs"),
        F.count_distinct("job", "attempt").alias("attempts"),
        *(F.sum(device_ns(column)).alias(name) for column, name in sums.items()),
    )
    failed = (
        attempts.where("failure_origin IN ('infra', 'unknown')")
        .groupBy(dimension)
        .agg(F.count(F.lit(1)).alias("failures"))
    )
    rows = told.join(failed, dimension, "left").fillna(0, ["failures"]).collect()
    return [
        {
            "key": row[dimension],
            "jobs": row["jobs"],
            "attempts": row["attempts"],
            "failures": row["failures"],
            "failure_device_ns": str(row["failure_device_ns"]),
            "device_ns": {word: str(row[f"{word}_device_ns"]) for word in words},
        }
        for row in sorted(rows, key=lambda row: row[dimension])
    ]
