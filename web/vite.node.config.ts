import { defineConfig } from "vite";

// The headless device and the benchmarks as files that node runs: for tests, never part of the page.
export default defineConfig({
  build: {
    ssr: true,
    target: "node20",
    outDir: "build/node",
    emptyOutDir: true,
    minify: false,
    rollupOptions: { input: { device: "headless/device.ts", bench: "bench/bench.ts" } },
  },
  ssr: { noExternal: true },
});
