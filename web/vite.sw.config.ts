import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig, type Plugin } from "vite";

const OUT = process.env.MURMURA_PAGE ?? "../src/murmura/server/http/static";
const SOURCES = ["index.html", "package-lock.json", "vite.config.ts", "vite.sw.config.ts", "public", "src"];

/** The service worker, after the page: one file without others, which knows every other file by its hash. */
export default defineConfig({
  build: {
    outDir: OUT,
    emptyOutDir: false,
    copyPublicDir: false,
    target: "es2022",
    minify: false,
    rollupOptions: { input: { sw: "src/sw/sw.ts" }, output: { entryFileNames: "sw.js" } },
  },
  plugins: [recorded()],
});

/** Tells the worker what it keeps, and writes down every file's hash and that of the sources. */
function recorded(): Plugin {
  return {
    name: "recorded",
    closeBundle() {
      const others = paths(OUT).filter((path) => !["/sw.js", "/build.json"].includes(path));
      const kept = Object.fromEntries(others.map((path) => [path, hashed(readFileSync(OUT + path))]));
      const worker = join(OUT, "sw.js");
      writeFileSync(worker, readFileSync(worker, "utf-8").replace('"__KEPT__"', JSON.stringify(kept)));
      const files = { ...kept, "/sw.js": hashed(readFileSync(worker)) };
      writeFileSync(join(OUT, "build.json"), `${JSON.stringify({ sources: sourceHash(), files }, null, 1)}\n`);
    },
  };
}

/** As tests/web/test_built_page.py computes it: built files must not be older than their sources. */
function sourceHash(): string {
  const parts = SOURCES.flatMap((one) => (one.includes(".") ? [one] : paths(one).map((path) => one + path))).sort();
  return hashed(
    Buffer.concat(parts.flatMap((path) => [Buffer.from(`${path}\0`), readFileSync(path), Buffer.from("\0")])),
  );
}

function paths(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map((one) => join(one.parentPath, one.name).slice(join(folder).length).replaceAll("\\", "/"))
    .sort();
}

function hashed(content: Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}
