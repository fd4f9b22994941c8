"""The reader of code blocks itself: what it misses would silently not be tested."""

from pathlib import Path

import pytest
from markdown import blocks


def test_blocks_carry_place_language_and_purpose(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text(
        "x\n```sh test\necho 1\necho 2\n```\n```python file=a.py\npass\n```\n```\nz\n```\n"
    )
    run, file, plain = blocks(path)
    assert (run.line, run.runs, run.text) == (2, True, "echo 1\necho 2\n")
    assert (file.file, file.runs, file.text) == ("a.py", False, "pass\n")
    assert (plain.language, plain.runs, plain.file) == ("", False, None)


def test_an_open_block_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("```sh test\nfalse\n")
    with pytest.raises(ValueError, match=r"a\.md:1: code block is not closed"):
        list(blocks(path))
