"""The rules and the labelled corpus agree, and are well-formed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from reference import Classifier, load_rules, read_case

ROOT = Path(__file__).parents[2]
RULES = ROOT / "src" / "failure" / "rules.toml"
CORPUS = Path(__file__).parent / "corpus"
RIGHT_MIN = 0.95


@pytest.fixture(scope="module")
def rules() -> dict:
    problems: list[str] = []
    loaded = load_rules(RULES, problems)
    assert problems == []
    return loaded


@pytest.fixture(scope="module")
def cases() -> list[dict]:
    problems: list[str] = []
    found = [read_case(str(path), problems) for path in sorted(CORPUS.rglob("*.log"))]
    assert problems == []
    return found


def test_every_category_has_rules_and_cases(rules: dict, cases: list[dict]) -> None:
    ruled = {rule["category"] for rule in rules["rule"] + rules["exit"]} | {"none", "unknown"}
    labelled = Counter(case["expect"]["category"] for case in cases)
    assert set(labelled) == ruled
    assert len(cases) >= 150 and min(labelled.values()) >= 2


def test_the_corpus_is_classified(rules: dict, cases: list[dict], capsys) -> None:
    classifier = Classifier(rules)
    confusion: Counter[tuple[str, str]] = Counter()
    for case in cases:
        confusion[case["expect"]["category"], classifier.classify(case)["category"]] += 1
    right = sum(count for (expected, got), count in confusion.items() if expected == got)
    wrong = {pair: count for pair, count in confusion.items() if pair[0] != pair[1]}
    with capsys.disabled():
        print(f"\nfailure corpus: {right} of {len(cases)} right; expected and got: {wrong}")
    assert right >= RIGHT_MIN * len(cases)
    assert not [pair for pair in wrong if pair[0] == "none"], "noise after success is no failure"
