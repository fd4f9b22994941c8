import { defineConfig } from "vitest/config";

// The collector embeds what is built here: one page, hashed files below /assets/, and nothing inline
// (its Content-Security-Policy forbids inline scripts, styles and data: outside of images).
export default defineConfig({
  base: "/",
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
    reportCompressedSize: false,
  },
  server: { proxy: { "/api": "http://127.0.0.1:8743" } },
  test: { include: ["test/unit/**/*.test.ts"], environment: "node" },
});
