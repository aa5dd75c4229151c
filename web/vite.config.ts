import tailwind from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";
import { shellList } from "./plugins/shell.ts";

const server = process.env.BOBSTAY_URL ?? "http://127.0.0.1:3001";

/** Files of the first load. What a later release does not change stays in the browser. */
const TOGETHER = [
  {
    name: "base",
    test: /node_modules\/(react|react-dom|scheduler|zustand|use-sync-external-store|openapi-fetch|idb|@tanstack\/(react-router|router-core|history|store|react-store|query-core|react-query))\//,
  },
  // Before the tools, or what both need would be with them, and every page would fetch them.
  { name: "ground", test: /\/src\/(ui|words|keys|state|stream|api)\/(?!SheetBox|Combo|Field|Switch)/ },
  { name: "tools", test: /\/src\/(tools|diff|text)\/|node_modules\/(marked|anser|diff)\// },
];

export default defineConfig({
  plugins: [react(), tailwind(), shellList()],
  build: {
    outDir: "../src/bobstay/server/static/web",
    emptyOutDir: true,
    target: "es2022",
    // Trusted Types allow no inline scripts, and data: URLs are for pictures only.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: { index: "index.html", sw: "src/sw.ts" },
      // The service worker's name never changes: browsers ask for it again by that name.
      output: {
        entryFileNames: (chunk) => (chunk.name === "sw" ? "sw.js" : "assets/[name]-[hash].js"),
        // What is always fetched together is packed together: many small files pack worse.
        codeSplitting: { groups: TOGETHER },
      },
    },
  },
  resolve: { alias: { "@": "/src" } },
  worker: { format: "es" },
  server: {
    proxy: { "/api": { target: server, ws: true, changeOrigin: true, headers: { origin: server } } },
  },
  test: { environment: "happy-dom", testTimeout: 30_000, include: ["src/**/*.test.{ts,tsx}"] },
});
