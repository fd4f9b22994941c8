#!/usr/bin/env -S python3 -IS
"""A g++ for the tests: what it has built once of the same source with the same words it copies.

torch.compile has it build the same few kernels again for every test that starts with an empty
cache, and a kernel takes seconds: torch's headers are large. It stands under the name g++ in a
folder that is first on PATH (tests/conftest.py), and keeps what it built below that folder. Another
compiler or another installation of the headers' folders is seen; a header that is edited is not."""

import hashlib
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(sys.argv[0]))
KEPT = os.path.join(HERE, "kept")
SOURCES = (".cpp", ".cc", ".c", ".h")
TAKES_FILE = ("-include", "-I", "-isystem", "-L", "-x")


def real_compiler():
    """The next one on PATH: those before it may be others that ask this one."""
    places = [os.path.realpath(p) for p in os.environ.get("PATH", "").split(os.pathsep) if p]
    here = os.path.realpath(HERE)
    after = places[places.index(here) + 1 :] if here in places else places
    found = shutil.which("g++", path=os.pathsep.join(after))
    if found is None:
        sys.exit("g++: not found")
    return found


def digest_of(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def plan(words, compiler):
    """(key, output), or nothing where this is not one source into one file."""
    if "-o" not in words[:-1] or any(w.startswith(("-M", "-E", "@")) for w in words):
        return None
    out = words.index("-o") + 1
    named = [
        i
        for i, word in enumerate(words)
        if word.endswith(SOURCES) and i != out and words[i - 1] not in TAKES_FILE
    ]
    if len(named) != 1 or not os.path.isfile(words[named[0]]):
        return None
    said = list(words)
    said[named[0]] = "source " + digest_of(words[named[0]])
    said[out] = "output"
    for i, word in enumerate(words):
        if i > 0 and words[i - 1] == "-include" and os.path.isfile(word):
            said[i] = "header " + digest_of(word)
    places = [compiler, *(w[2:] for w in words if w.startswith("-I") and os.path.isdir(w[2:]))]
    said += [f"{os.path.realpath(place)} {os.stat(place).st_mtime_ns}" for place in places]
    return hashlib.sha256("\n".join(said).encode()).hexdigest(), words[out]


def copy(path, to):
    """Whole or not at all: others may ask for the same."""
    temporary = f"{to}.{os.getpid()}.tmp"
    shutil.copyfile(path, temporary)
    shutil.copymode(path, temporary)
    os.replace(temporary, to)


def main():
    words = sys.argv[1:]
    compiler = real_compiler()
    planned = plan(words, compiler)
    if planned is None:
        os.execv(compiler, [compiler, *words])
    key, out = planned
    kept = os.path.join(KEPT, key)
    if os.path.exists(kept):
        copy(kept, out)
        return 0
    done = subprocess.run([compiler, *words], capture_output=True, check=False)
    sys.stdout.buffer.write(done.stdout)
    sys.stderr.buffer.write(done.stderr)
    if done.returncode == 0 and os.path.isfile(out):  # its warnings are told once
        os.makedirs(KEPT, exist_ok=True)
        copy(out, kept)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
