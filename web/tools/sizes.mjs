// What a first visit costs: the built files, plain and gzipped.

import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const folder = new URL("../dist/assets/", import.meta.url);
const sums = {};
for (const name of readdirSync(folder).sort()) {
  const bytes = readFileSync(new URL(name, folder));
  const packed = gzipSync(bytes).length;
  const kind = name.split(".").at(-1);
  sums[kind] = (sums[kind] ?? 0) + packed;
  console.log(
    `${String(bytes.length).padStart(8)} B ${String(packed).padStart(7)} B gzip  ${name}`,
  );
}
for (const [kind, size] of Object.entries(sums))
  console.log(`${kind}: ${(size / 1000).toFixed(1)} kB gzip`);
