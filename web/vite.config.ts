import { defineConfig } from "vite";

/** The same sources give the same files: fixed names, and nothing renamed, so that anybody can read and compare them. */
export default defineConfig({
  build: {
    outDir: process.env.MURMURA_PAGE ?? "../src/murmura/server/http/static",
    emptyOutDir: true,
    target: "es2022",
    minify: false,
    modulePreload: false,
    assetsInlineLimit: 0,
    rollupOptions: {
      input: { app: "index.html", training_worker: "src/device/training_worker.ts" },
      output: {
        comments: false,
        minify: { compress: true, mangle: false, codegen: false },
        entryFileNames: "assets/[name].js",
        chunkFileNames: "assets/[name].js",
        assetFileNames: "assets/[name][extname]",
      },
    },
  },
});
