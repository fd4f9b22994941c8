"""/metrics, read by Prometheus' own tools."""

from __future__ import annotations

import collections

from deploying import page, promtool
from prometheus_client.openmetrics.parser import text_string_to_metric_families

LABEL_SETS_MAX = 50
FLEET_LABELS = {"family", "team", "cluster", "hardware"}
OTHER_LABELS = {
    "group",
    "bucket",
    "origin",
    "category",
    "of",
    "le",
    "state",
    "component",
    "outcome",
}


def test_promtool_has_nothing_to_say() -> None:
    done = promtool("check", "metrics", text=page("prometheus"))
    assert done.returncode == 0 and done.stdout + done.stderr == "", done.stdout + done.stderr


def test_openmetrics_is_read_strictly() -> None:
    families = {f.name: f for f in text_string_to_metric_families(page("openmetrics"))}
    assert families["headway_fleet_device_seconds"].type == "counter"
    assert families["headway_fleet_device_seconds"].unit == "seconds"
    assert families["headway_fleet_time_to_start_seconds"].type == "histogram"
    assert all(f.documentation for f in families.values())
    samples = [s for f in families.values() for s in f.samples]
    assert len({(s.name, *sorted(s.labels.items())) for s in samples}) == len(samples)
    moved = sum(s.value for s in families["headway_fleet_device_seconds"].samples)
    assert moved > 0, "the made-up fleet has grown since counting began"


def test_labels_are_bounded() -> None:
    sets = set()
    for family in text_string_to_metric_families(page("openmetrics")):
        for sample in family.samples:
            if not family.name.startswith("headway_fleet_"):
                assert not FLEET_LABELS & set(sample.labels), sample
                continue
            assert set(sample.labels) <= FLEET_LABELS | OTHER_LABELS, sample
            if "family" in sample.labels:
                assert set(sample.labels) >= FLEET_LABELS
                sets.add(tuple(sample.labels[name] for name in sorted(FLEET_LABELS)))
    assert len(sets) == LABEL_SETS_MAX + 1, "the made-up fleet has more"
    assert ("other",) * 4 in sets


def test_shares_add_up() -> None:
    shares: dict[tuple[str, ...], float] = collections.defaultdict(float)
    for family in text_string_to_metric_families(page("openmetrics")):
        if family.name == "headway_fleet_share_ratio":
            for sample in family.samples:
                key = tuple(v for k, v in sorted(sample.labels.items()) if k != "of")
                shares[key] += sample.value
    assert shares and all(abs(share - 1) < 1e-9 for share in shares.values())
