#!/usr/bin/env python3
"""Packs the built page and the interface's description for the binary.

    pack_page.py DIST OPENAPI OUT

DIST is web/dist; where it is missing, a page is left out and the collector says so. Writes
OUT/page.blob (all files, as they are and compressed), OUT/page_files.cc (where each lies) and
OUT/page_blob.S (which puts the blob into the binary).
"""

import gzip
import hashlib
import sys
from pathlib import Path

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".json": "application/json",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
}


def find_files(dist: Path, openapi: Path) -> dict[str, Path]:
    files = (
        {"/" + str(p.relative_to(dist)): p for p in dist.rglob("*") if p.is_file()}
        if dist.is_dir()
        else {}
    )
    files["/openapi.json"] = openapi
    return files


def write_if_changed(path: Path, content: bytes) -> None:
    if not path.exists() or path.read_bytes() != content:
        path.write_bytes(content)


def main(dist: str, openapi: str, out: str) -> None:
    blob = bytearray()
    rows = []
    for name, path in sorted(find_files(Path(dist), Path(openapi)).items()):
        content = path.read_bytes()
        packed = gzip.compress(content, 9, mtime=0)
        if len(packed) >= len(content):
            packed = b""
        kind = TYPES.get(path.suffix, "application/octet-stream")
        etag = '\\"' + hashlib.sha256(content).hexdigest()[:20] + '\\"'
        at = len(blob)
        blob += content
        places = f"{at}, {len(content)}, {len(blob)}, {len(packed)}"
        rows.append(f'    {{"{name}", "{kind}", "{etag}", {places}}},\n')
        blob += packed
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    write_if_changed(folder / "page.blob", bytes(blob))
    source = [
        '#include "collector/page_files.h"\n\n',
        "namespace headway::collector {\nnamespace {\n\nconstexpr PageFile kFiles[] = {\n",
        *rows,
        "};\n\n}  // namespace\n\n",
        "std::span<const PageFile> page_files() {\n  return kFiles;\n}\n\n",
        "}  // namespace headway::collector\n",
    ]
    write_if_changed(folder / "page_files.cc", "".join(source).encode())
    lines = [
        "    .section .rodata",
        "    .global headway_page_blob",
        "    .hidden headway_page_blob",
        "    .balign 16",
        "headway_page_blob:",
        f'    .incbin "{folder / "page.blob"}"',
        "    .byte 0",
        '    .section .note.GNU-stack,"",%progbits',
    ]
    write_if_changed(folder / "page_blob.S", ("\n".join(lines) + "\n").encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
