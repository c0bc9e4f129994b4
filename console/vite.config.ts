/** How the console is built: into the Python package, absolute paths, heavy parts as chunks of their own. */
import { defineConfig } from "vite";
import react from "@vitejs/plugin-react";

const server = process.env["PENSTOCK_URL"] ?? "http://127.0.0.1:8080";

export default defineConfig({
  plugins: [react()],
  base: "/",
  build: {
    outDir: "../src/penstock/api/console",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 2048,
    chunkSizeWarningLimit: 1600,
    reportCompressedSize: true,
  },
  worker: { format: "es" },
  server: { port: 5173, proxy: { "/api": server } },
});
