"""headway cache on directories that look like torch's."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

import pytest
from cache_command import BOUND, Cache, read_tree, some_tree, write_tree


def test_round_trip(cache: Cache, tmp_path: Path) -> None:
    tree = some_tree()
    directory = write_tree(tmp_path / "c", tree)
    os.chmod(directory / "cd/c0_0.main.so", 0o755)
    waste = {"locks/cabc.lock": b"", "ab/.12.34.tmp": b"half", "dynamo/x.pkl.lock": b"", "odd": b""}
    write_tree(directory, waste)
    packed = cache.pack(directory, tmp_path / "x.hwc")
    assert packed["entries"] == len(tree) and packed["signed"] and packed["unknown"] == 1
    done = cache.json("unpack", tmp_path / "x.hwc", "--to", tmp_path / "to")
    assert done["written"] == len(tree)
    assert read_tree(tmp_path / "to") == tree
    assert (tmp_path / "to/cd/c0_0.main.so").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "to/cd/c0_1.main.so").stat().st_mode & 0o777 == 0o644
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "to").rglob("*.so")}
    again = cache.json("unpack", tmp_path / "x.hwc", "--to", tmp_path / "to")
    assert (again["written"], again["same"]) == (0, len(tree))
    assert before == {path: path.stat().st_mtime_ns for path in before}
    assert not list((tmp_path / "to").glob(".headway-unpack*"))


def test_only_what_is_trusted(cache: Cache, tmp_path: Path) -> None:
    directory = write_tree(tmp_path / "c", some_tree())
    cache.pack(directory, tmp_path / "x.hwc")
    stranger = Cache(tmp_path / "stranger")
    stranger.home.mkdir()
    to = tmp_path / "to"
    refused = stranger.run("unpack", tmp_path / "x.hwc", "--to", to, code=2).stderr
    assert "nobody here trusts" in refused and not to.exists()
    assert f"into a .pem file in {stranger.home}/.config/headway/trusted, or say" in refused
    assert "not trusted" in stranger.run("verify", tmp_path / "x.hwc", code=1).stdout
    # The public half, in a file.
    key = Path(cache.home / ".config/headway/cache-key.pem")
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    public = cache.run("keygen", tmp_path / "other.pem").stdout
    assert public.startswith("-----BEGIN PUBLIC KEY-----")
    (tmp_path / "team.pem").write_text(public)
    cache.pack(directory, tmp_path / "y.hwc", "--key", tmp_path / "other.pem")
    arguments = ["unpack", tmp_path / "y.hwc", "--to", to, "--trusted", tmp_path / "team.pem"]
    assert stranger.json(*arguments)["written"] == len(some_tree())
    stranger.pack(directory, tmp_path / "u.hwc")
    assert "not signed" in cache.run("unpack", tmp_path / "u.hwc", "--to", to, code=2).stderr
    assert cache.json("unpack", tmp_path / "u.hwc", "--to", tmp_path / "to2", "--unsigned")
    assert "there is a key already" in cache.run("keygen", code=2).stderr


def test_the_place_of_trusted_keys_is_the_real_one(cache: Cache, tmp_path: Path) -> None:
    cache.pack(write_tree(tmp_path / "c", some_tree()), tmp_path / "x.hwc")
    stranger = Cache(tmp_path / "stranger", {"XDG_CONFIG_HOME": str(tmp_path / "moved")})
    stranger.home.mkdir()
    folder = tmp_path / "moved/headway/trusted"
    assert f"a .pem file in {folder};" in stranger.run("keygen").stderr
    arguments = ["unpack", tmp_path / "x.hwc", "--to", tmp_path / "to"]
    assert f"a .pem file in {folder}," in stranger.run(*arguments, code=2).stderr
    own = tmp_path / "own.pem"
    own.write_text(stranger.run("keygen", "--public").stdout)
    assert f"into {own}, or say" in stranger.run(*arguments, "--trusted", own, code=2).stderr
    stranger.variables["HEADWAY_CACHE_TRUSTED"] = str(own)
    assert f"into {own}, or say" in stranger.run(*arguments, code=2).stderr
    del stranger.variables["HEADWAY_CACHE_TRUSTED"]
    # What the message says is what helps.
    folder.mkdir()
    (folder / "theirs.pem").write_text(cache.run("keygen", "--public").stdout)
    assert stranger.json(*arguments)["written"] == len(some_tree())


def test_the_public_half_of_a_key_that_is_there(cache: Cache, tmp_path: Path) -> None:
    own = cache.home / ".config/headway/cache-key.pem"
    refused = cache.run("keygen", code=2).stderr
    assert f"`headway cache keygen --public {own}`" in refused
    before = own.read_bytes()
    told = cache.json("keygen", "--public")
    done = cache.run("keygen", "--public")
    assert done.stdout == told["public_pem"] and done.stderr == ""
    assert told["path"] == str(own) and own.read_bytes() == before
    named = tmp_path / "named.pem"
    made = cache.run("keygen", named).stdout
    assert made == cache.run("keygen", "--public", named).stdout != done.stdout
    cache.variables["HEADWAY_CACHE_KEY"] = str(named)
    assert cache.run("keygen", "--public").stdout == made
    missing = cache.run("keygen", "--public", tmp_path / "no.pem", code=2).stderr
    assert "no.pem: there is no key" in missing and not (tmp_path / "no.pem").exists()


def test_damage_writes_nothing(cache: Cache, tmp_path: Path) -> None:
    cache.pack(write_tree(tmp_path / "c", some_tree()), tmp_path / "x.hwc")
    good = (tmp_path / "x.hwc").read_bytes()
    for at in (70, len(good) // 2, len(good) - 300, len(good) - 1):
        bad = bytearray(good)
        bad[at] ^= 4
        (tmp_path / "y.hwc").write_bytes(bad)
        cache.run("unpack", tmp_path / "y.hwc", "--to", tmp_path / "to", "--unsigned", code=2)
        left = (tmp_path / "to").rglob("*") if (tmp_path / "to").exists() else []
        assert {path.name for path in left} <= {".headway-lock"}
        assert cache.json("verify", tmp_path / "y.hwc", code=1)["archives"][0]["good"] is False
    (tmp_path / "y.hwc").write_bytes(good[:-5])
    assert "take another copy" in cache.run("ls", tmp_path / "y.hwc", code=2).stderr
    (tmp_path / "y.hwc").write_bytes(b"something else")
    assert "not a cache archive" in cache.run("ls", tmp_path / "y.hwc", code=2).stderr


def test_of_another_machine(cache: Cache, tmp_path: Path) -> None:
    cache.pack(write_tree(tmp_path / "c", some_tree()), tmp_path / "x.hwc")
    arguments = ["unpack", tmp_path / "x.hwc", "--to", tmp_path / "to"]
    refused = cache.run(*arguments, "--torch", "2.12.0", code=2).stderr
    assert "2.12.0" in refused and "2.13.0" in refused
    assert cache.run(*arguments, *BOUND).stderr == ""
    done = cache.run(*arguments)
    assert done.stderr.count("\n") == 1
    assert "not compared with any torch" in done.stderr
    assert "torch 2.13.0 of cpython-311" in done.stderr
    told = cache.run("unpack", "--help").stdout
    assert "(default: torch is not compared)" in told and "--family" not in told


def test_merge_and_diff(cache: Cache, tmp_path: Path) -> None:
    archives = []
    for rank in range(4):
        archives.append(tmp_path / f"{rank}.hwc")
        cache.pack(write_tree(tmp_path / str(rank), some_tree(rank)), archives[-1])
    merged = cache.json("merge", *archives, "-o", tmp_path / "all.hwc")
    expected = {path: content for rank in range(4) for path, content in some_tree(rank).items()}
    assert merged["entries"] == len(expected)
    assert cache.run("verify", tmp_path / "all.hwc").stdout.strip().endswith("good and trusted")
    cache.run("unpack", tmp_path / "all.hwc", "--to", tmp_path / "to")
    assert read_tree(tmp_path / "to") == expected
    found = cache.json("diff", archives[0], tmp_path / "all.hwc", code=1)
    assert not found["only_a"] and found["same"] == len(some_tree())
    assert len(found["only_b"]) == len(expected) - len(some_tree())
    assert cache.json("diff", archives[0], archives[0])["equal"]
    other = tmp_path / "other.hwc"
    cache.pack(tmp_path / "0", other, "--gpu", "sm_90")
    assert "sm_90" in cache.run("merge", archives[0], other, "-o", other, code=2).stderr


@pytest.mark.parametrize("order", [("good", "bad"), ("bad", "good")])
def test_merge_takes_what_is_damaged_from_another(
    cache: Cache, tmp_path: Path, order: tuple[str, str]
) -> None:
    directory = write_tree(tmp_path / "c", some_tree())
    for name in order:
        cache.pack(directory, tmp_path / f"{name}.hwc")
    bad = bytearray((tmp_path / "bad.hwc").read_bytes())
    bad[200] ^= 1
    (tmp_path / "bad.hwc").write_bytes(bad)
    cache.run("verify", tmp_path / "bad.hwc", code=1)
    archives = [tmp_path / f"{name}.hwc" for name in order]
    done = cache.run("merge", *archives, "-o", tmp_path / "all.hwc")
    assert done.stderr.count("\n") == 1 and "bad.hwc: a block is damaged" in done.stderr
    assert "the others have what it lacks" in done.stderr
    cache.run("unpack", tmp_path / "all.hwc", "--to", tmp_path / "to")
    assert read_tree(tmp_path / "to") == some_tree()


@pytest.mark.parametrize("part", ["cut", "empty", "head", "index", "seal"])
@pytest.mark.parametrize("last", [False, True])
def test_merge_without_an_index_is_an_error(
    cache: Cache, tmp_path: Path, part: str, last: bool
) -> None:
    good, bad, out = (tmp_path / f"{name}.hwc" for name in ("good", "bad", "all"))
    directory = write_tree(tmp_path / "c", some_tree())
    cache.pack(directory, good)
    data = bytearray(good.read_bytes())
    at = {"cut": 0, "empty": 0, "head": 20, "index": len(data) - 200, "seal": len(data) - 1}[part]
    data[at] ^= 0 if part in ("cut", "empty") else 1
    bad.write_bytes(data[: {"cut": len(data) // 2, "empty": 0}.get(part)])
    archives = [good, bad] if last else [bad, good]
    out.write_bytes(b"was there")
    error = cache.run("merge", *archives, "-o", out, code=2).stderr
    assert str(bad) in error and "nothing was merged" in error and "leave it out" in error
    assert out.read_bytes() == b"was there"
    cache.run("merge", good, "-o", out)


def test_ls_of_a_folder(cache: Cache, tmp_path: Path) -> None:
    shelf = tmp_path / "shelf"
    for rank in range(2):
        cache.pack(write_tree(tmp_path / str(rank), some_tree(rank)), tmp_path / f"{rank}.hwc")
        cache.run("push", tmp_path / f"{rank}.hwc", "--to", shelf)
    listed = [one["path"] for one in cache.json("ls", shelf)["archives"]]
    assert listed == sorted(map(str, shelf.rglob("*.hwc"))) and len(listed) == 2
    # One that is damaged does not hide the other.
    Path(listed[0]).write_bytes(b"HW")
    done = cache.run("ls", shelf, code=2)
    assert listed[0] in done.stderr and listed[1] in done.stdout
    (tmp_path / "empty").mkdir()
    assert "no archives" in cache.run("ls", tmp_path / "empty", code=2).stderr


def test_gc_of_no_folder(cache: Cache, tmp_path: Path) -> None:
    error = cache.run("gc", tmp_path / "no", code=2).stderr
    assert f"{tmp_path / 'no'}: there is no such folder" in error


def test_ls(cache: Cache, tmp_path: Path) -> None:
    cache.pack(write_tree(tmp_path / "c", some_tree()), tmp_path / "x.hwc", "--family", "ctr")
    (archive,) = cache.json("ls", tmp_path / "x.hwc", "--entries")["archives"]
    assert archive["binding"]["torch"] == "2.13.0" and archive["binding"]["family"] == "ctr"
    assert archive["kinds"]["library"] == {"entries": 3, "bytes": 48000}
    assert {entry["path"] for entry in archive["entries"]} == set(some_tree())
    assert "library" in cache.run("ls", tmp_path / "x.hwc").stdout


def test_pgo_for_another_job(cache: Cache, tmp_path: Path) -> None:
    cache.pack(write_tree(tmp_path / "c", some_tree()), tmp_path / "x.hwc")
    arguments = ["unpack", tmp_path / "x.hwc", "--to", tmp_path / "to"]
    cache.run(*arguments, "--pgo-job", "job=new:job", "--pgo-ranks", 2)
    names = {path.name for path in (tmp_path / "to/dynamo").iterdir()}
    assert names == {f"code_state_{x}_.pkl" for x in ("job_0", "new_job_0", "new_job_1")}
    assert "OLD=NEW" in cache.run(*arguments, "--pgo-ranks", 2, code=2).stderr


def test_push_and_pull(cache: Cache, tmp_path: Path) -> None:
    shelf = tmp_path / "shelf"
    expected = {}
    for job in range(3):
        archive = tmp_path / f"{job}.hwc"
        expected |= some_tree(job)
        cache.pack(write_tree(tmp_path / f"c{job}", some_tree(job)), archive, "--family", "ctr")
        assert cache.json("push", archive, "--to", shelf)["archives"][0]["pushed"]
        assert not cache.json("push", archive, "--to", shelf)["archives"][0]["pushed"]
    arguments = ["pull", shelf, *BOUND, "--family", "ctr"]
    done = cache.json(*arguments, "--to", tmp_path / "to")
    assert done["archives"] == 3 and read_tree(tmp_path / "to") == expected
    # A bad one costs a note.
    bad = next(shelf.rglob("*.hwc"))
    bad.write_bytes(bad.read_bytes()[:-1])
    done = cache.run(*arguments, "--to", tmp_path / "to2")
    assert "passed over" in done.stderr and "2 archives" in done.stdout
    told = cache.json("gc", shelf, "--dry-run")["removed"]
    assert f"{bad.relative_to(shelf)}" in told and len(list(shelf.rglob("*.hwc"))) == 3
    bad.unlink()
    # Nothing there is no failure.
    nowhere = ["pull", tmp_path / "no", *BOUND, "--to", tmp_path / "to3"]
    assert cache.json(*nowhere)["written"] == 0
    done = cache.run(*nowhere)
    assert done.stdout == "" and done.stderr.count("\n") == 1
    assert f"{tmp_path / 'no'}: there is no such folder" in done.stderr
    assert "cache push" in done.stderr and not (tmp_path / "no").exists()
    (tmp_path / "empty").mkdir()
    done = cache.run("pull", tmp_path / "empty", *BOUND, "--to", tmp_path / "to3")
    assert "0 files" in done.stdout and done.stderr == ""
    dry = cache.json("gc", shelf, "--dry-run")
    done = cache.json("gc", shelf)
    assert (done["archives_before"], done["archives_after"], done["merged"]) == (2, 1, 2)
    assert dry == {**done, "dry_run": True}
    assert cache.json(*arguments, "--to", tmp_path / "to4")["archives"] == 1
    os.utime(next(shelf.rglob("*.hwc")), (0, 10))
    assert cache.json("gc", shelf, "--max-age", "30d")["archives_after"] == 0


def test_one_is_no_plural(cache: Cache, tmp_path: Path) -> None:
    directory = write_tree(tmp_path / "c", {"ab/c1.py": b"1", "ab/c1.main.so": b""})
    archive, shelf, to = tmp_path / "one.hwc", tmp_path / "shelf", tmp_path / "to"
    packed = cache.run("pack", directory, "-o", archive, *BOUND)
    said = packed.stdout + packed.stderr
    said += cache.run("ls", archive).stdout
    said += cache.run("diff", archive, archive).stdout
    said += cache.run("unpack", archive, "--to", tmp_path / "unpacked").stdout
    said += cache.run("unpack", archive, "--to", tmp_path / "unpacked").stdout
    cache.run("push", archive, "--to", shelf)
    said += cache.run("pull", shelf, *BOUND, "--to", to).stdout
    said += cache.run("gc", shelf).stdout
    said += cache.run("merge", archive, "-o", tmp_path / "merged.hwc").stdout
    for one in ("1 entry", "1 file of", "1 archive", "1 library is damaged", "1 was there"):
        assert one in said, (one, said)
    assert not re.search(r"\b1 (entries|files|archives|libraries|were|are)\b", said), said


def test_pull_takes_what_fits_best(cache: Cache, tmp_path: Path) -> None:
    shelf = tmp_path / "shelf"
    elsewhere = ["--torch", "2.13.0", "--python-tag", "cpython-311", "--environment", "/other"]
    bindings = {
        "gpu": [*BOUND, "--gpu", "sm_90", "--family", "ctr"],
        "torch": [*BOUND[2:], "--torch", "2.12.0", "--family", "ctr"],
        "others": [*BOUND, "--family", "ads"],
        "elsewhere": [*elsewhere, "--family", "ctr"],
        "own": [*BOUND, "--family", "ctr"],
    }
    pull = ["pull", shelf, *BOUND, "--family", "ctr"]
    taken = []
    for name, bound in bindings.items():
        directory = write_tree(tmp_path / name, {f"ab/c{name}.py": b"x"})
        cache.run("pack", directory, "-o", tmp_path / f"{name}.hwc", *bound)
        cache.run("push", tmp_path / f"{name}.hwc", "--to", shelf)
        to = tmp_path / f"to {name}"
        done = cache.run(*pull, "--to", to)
        taken.append("".join(read_tree(to)))
        if name == "gpu":
            assert "nothing there fits" in done.stderr and "sm_90" in done.stderr
        if name == "others":
            assert "taken from family ads" in done.stderr
    assert taken == ["", "", "ab/cothers.py", "ab/celsewhere.py", "ab/cown.py"]
    done = cache.json(*pull, "--to", tmp_path / "again")
    assert done["family"] == "ctr" and done["same_binding"] and done["same_environment"]


def test_what_cannot_be_packed(cache: Cache, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    out = tmp_path / "x.hwc"
    for directory, words in ((tmp_path / "empty", "nothing"), (tmp_path / "no", "no such")):
        assert words in cache.run("pack", directory, "-o", out, *BOUND, code=2).stderr
    directory = write_tree(tmp_path / "c", some_tree())
    (directory / "ab/clink.so").symlink_to("/etc/passwd")
    (directory / "ee").symlink_to("/etc")
    os.mkfifo(directory / "ab/cpipe.so")
    assert cache.pack(directory, out)["unknown"] == 3
    assert (
        "no such"
        in cache.run("pack", directory, "-o", tmp_path / "no/x.hwc", *BOUND, code=2).stderr.lower()
    )
    assert (
        "--family"
        in cache.run("pack", directory, "-o", out, "--family", "a/b", *BOUND, code=2).stderr
    )


def verbs() -> list[str]:
    return [
        *("pack", "unpack", "ls", "merge", "diff", "verify", "keygen", "push", "pull", "gc"),
        *("import-mega", "export-mega"),
    ]


@pytest.mark.parametrize("verb", verbs())
def test_help_ends_in_an_example(cache: Cache, verb: str) -> None:
    last = cache.run(verb, "--help").stdout.strip().splitlines()[-1]
    assert last.strip().startswith(f"headway cache {verb}"), last
