import tailwind from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const server = process.env.BOBSTAY_URL ?? "http://127.0.0.1:3001";

export default defineConfig({
  plugins: [react(), tailwind()],
  build: {
    outDir: "../src/bobstay/server/static/web",
    emptyOutDir: true,
    target: "es2022",
    // Trusted Types allow no inline scripts, and data: URLs are for pictures only.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  resolve: { alias: { "@": "/src" } },
  worker: { format: "es" },
  server: {
    proxy: { "/api": { target: server, ws: true, changeOrigin: true, headers: { origin: server } } },
  },
  test: { environment: "happy-dom", include: ["src/**/*.test.{ts,tsx}"] },
});
