"""What the documentation tells a person to type must work, word for word."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from markdown import Block, blocks, documents

ROOT = Path(__file__).resolve().parents[2]
HEADWAY = Path(os.environ.get("HEADWAY_BIN", ROOT / "build/headway"))
PACKAGE = Path(os.environ.get("HEADWAY_PYTHON", ROOT / "build/python"))
DOCUMENTS = documents(ROOT)
TIMEOUT_S = 300
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")
COMMAND = re.compile(r"(?:^|\s)(\./dev|headway)\s+([a-z][a-z-]*)((?:\s+\S+)*)")


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def set_up(clone: Path) -> str:
    """What the README has a person export in the clone, for what this build has made."""
    (clone / "build").mkdir(parents=True)
    (clone / "build/headway").symlink_to(HEADWAY.absolute())
    (clone / "build/python").symlink_to(PACKAGE.absolute())
    lines = [
        line
        for block in blocks(ROOT / "README.md")
        for line in block.text.splitlines()
        if block.language == "sh" and line.startswith("export ")
    ]
    return "\n".join([f'cd "{clone}"', *lines, 'cd "$OLDPWD"\n'])


def run(block: Block, folder: Path, before: str) -> None:
    environment = dict(
        os.environ,
        PATH=f"{ROOT / '.venv/bin'}{os.pathsep}{os.environ['PATH']}",
        HEADWAY_CACHE="off",
        HEADWAY_DIR=str(folder / "headway-jobs"),
        VIRTUAL_ENV=str(ROOT / ".venv"),
        ROOT=str(ROOT),
    )
    environment.pop("PYTHONPATH", None)  # the tests have one; who reads has what is told here
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", before + block.text],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    place = f"{name(block.path)}:{block.line}"
    assert done.returncode == 0, f"{place} failed\n{block.text}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_marked_blocks_run(path: Path, tmp_path: Path) -> None:
    found = list(blocks(path))
    for block in found:
        if block.file is not None:
            (tmp_path / block.file).write_text(block.text)
    before = set_up(tmp_path / "clone") if any(block.runs for block in found) else ""
    for block in found:
        if block.runs:
            run(block, tmp_path, before)


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_links_lead_somewhere(path: Path) -> None:
    for target in LINK.findall(path.read_text()):
        if "://" not in target:
            assert (path.parent / target).exists(), f"{name(path)} links to {target}"


def commands(path: Path) -> list[tuple[str, str, str]]:
    """(program, verb, arguments) of each command in the document's sh blocks."""
    found = []
    for block in blocks(path):
        if block.language == "sh":
            for line in block.text.splitlines():
                found += COMMAND.findall(line.split("#")[0])
    return found


@pytest.fixture(scope="module")
def help_texts() -> dict[str, str]:
    """`headway VERB --help` for each verb (`ckpt ls` is one), and `./dev help`."""

    def ask(*command: str) -> str:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    texts = {"./dev": ask(str(ROOT / "dev"), "help")}

    def add(*words: str) -> None:
        text = ask(str(HEADWAY), *words, "--help")
        texts[" ".join(words)] = text
        for verb in re.findall(r"^  ([a-z-]+)  ", text.partition("Subcommands:")[2], re.MULTILINE):
            add(*words, verb)

    add()
    return texts


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_verbs_and_options_exist(path: Path, help_texts: dict[str, str]) -> None:
    for program, verb, arguments in commands(path):
        if program == "./dev":
            assert re.search(rf"^  {verb}\b", help_texts["./dev"], re.MULTILINE), verb
            continue
        while f"{verb} {arguments.split()[0] if arguments.split() else ''}" in help_texts:
            word, _, arguments = arguments.strip().partition(" ")
            verb, arguments = f"{verb} {word}", " " + arguments
        assert verb in help_texts, f"{name(path)}: there is no `headway {verb}`"
        own = re.split(r"\s--(?=\s)|\s\S+\.py\b", arguments)[0] if verb == "run" else arguments
        for option in re.findall(r"(?<=\s)--[a-z][a-z-]*", own):
            assert option in help_texts[verb], f"{name(path)}: `headway {verb}` has no {option}"


def test_readme_and_ci_run_the_same_command() -> None:
    assert "exec ./dev test\n" in (ROOT / ".ci/run").read_text()
    assert "./dev test\n" in (ROOT / "README.md").read_text()
