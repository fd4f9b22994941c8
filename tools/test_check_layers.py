"""The layer check must be able to fail: each rule is broken once in a small tree."""

from pathlib import Path

import check_layers
import pytest


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    files = {
        "src/CMakeLists.txt": "add_subdirectory(base)\nif(X)\n  add_subdirectory(record)\n",
        "src/base/a.h": "#include <vector>\n",
        "src/record/b.cc": '#include "base/a.h"\n#include "record/b.h"\n',
        "src/record/b.h": '#include "headway/headway.h"\n',
        "include/headway/headway.h": "#include <stdint.h>\n",
        "tests/agent/test_a.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_clean_tree_has_no_problems(tree: Path) -> None:
    assert check_layers.problems(tree) == []


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("src/base/a.h", '\n#include "record/b.h"\n', "src/base/a.h:2: includes record/b.h, but"),
        ("src/base/a.h", "#include <record/b.h>\n", "src/base/a.h:1: includes record/b.h, but"),
        ("src/base/a.h", '#include "b.h"\n', "src/base/a.h:1: includes b.h, which is in no"),
        ("src/base/a.h", '#include "../x.h"\n', "src/base/a.h:1: includes ../x.h, which is in no"),
        ("src/new/c.cc", "", "src/new/c.cc:1: folder src/new is not listed"),
        ("include/headway/headway.h", '#include "base/a.h"\n', "headway.h:1: includes base/a.h;"),
        ("tests/nodes/test_a.py", "", "tests/nodes/test_a.py:1: has the name of tests/agent/test"),
        ("src/base/long.cc", "\n" * 601, "src/base/long.cc:601: longer than 600 lines"),
    ],
)
def test_each_rule_fails_with_its_place(tree: Path, name: str, text: str, message: str) -> None:
    (tree / name).parent.mkdir(parents=True, exist_ok=True)
    (tree / name).write_text(text)
    found = check_layers.problems(tree)
    assert len(found) == 1
    assert message in found[0]


def test_this_repository_keeps_its_layers() -> None:
    assert check_layers.problems(Path(__file__).resolve().parent.parent) == []
