import tailwind from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";
import { pageFiles } from "./plugins/pageFiles.ts";

const server = process.env.BOBSTAY_URL ?? "http://127.0.0.1:3001";

/** Chunks of the first load. Chunks that a later release does not change stay in the browser's cache. */
const CHUNK_GROUPS = [
  {
    name: "base",
    test: /node_modules\/(react|react-dom|scheduler|zustand|use-sync-external-store|openapi-fetch|idb|@tanstack\/(react-router|router-core|history|store|react-store|query-core|react-query))\//,
  },
  // Before the tools: otherwise shared modules would be in their chunk, and every page would load it.
  { name: "ground", test: /\/src\/(ui|format|keys|state|stream|api)\/(?!SheetBox|Combo|Field|Switch)/ },
  { name: "tools", test: /\/src\/(tools|diff|text)\/|node_modules\/(marked|anser|diff)\// },
];

export default defineConfig({
  plugins: [react(), tailwind(), pageFiles()],
  build: {
    outDir: "../src/bobstay/server/static/web",
    emptyOutDir: true,
    target: "es2022",
    // Trusted Types allow no inline scripts, and data: URLs are for images only.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: { index: "index.html", sw: "src/sw.ts" },
      // The service worker's name must not change: browsers check for updates by that name.
      output: {
        entryFileNames: (chunk) => (chunk.name === "sw" ? "sw.js" : "assets/[name]-[hash].js"),
        // Modules that always load together share a chunk: many small files compress worse.
        codeSplitting: { groups: CHUNK_GROUPS },
      },
    },
  },
  resolve: { alias: { "@": "/src" } },
  worker: { format: "es" },
  server: {
    proxy: { "/api": { target: server, ws: true, changeOrigin: true, headers: { origin: server } } },
  },
  test: {
    environment: "happy-dom",
    testTimeout: 30_000,
    include: ["src/**/*.test.{ts,tsx}"],
    setupFiles: ["scripts/vitest_setup.ts"],
  },
});
