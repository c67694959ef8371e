import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";
import { bundle } from "./build/bundle.ts";

const api = process.env["TIDINGS_URL"] ?? "http://127.0.0.1:8080";
const asked = ["/v1", "/openapi.json", "/docs", "/metrics"];

export default defineConfig({
  plugins: [react(), bundle()],
  resolve: {
    alias: { "@tidings/client": fileURLToPath(new URL("../clients/typescript/src/index.ts", import.meta.url)) },
  },
  build: {
    outDir: fileURLToPath(new URL("../src/tidings/page", import.meta.url)),
    emptyOutDir: true,
    target: "es2022",
    manifest: "manifest.json",
    sourcemap: false,
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: { input: ["index.html", "docs.html"] },
    modulePreload: { polyfill: false },
  },
  server: { proxy: Object.fromEntries(asked.map((path) => [path, { target: api, changeOrigin: true }])) },
  test: { environment: "jsdom", include: ["tests/**/*.test.{ts,tsx}"], setupFiles: ["tests/setup.ts"], css: false },
});
