/** How the console is built: into the Python package, absolute paths, heavy parts as chunks of their own. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";
import react from "@vitejs/plugin-react";

const server = process.env["PENSTOCK_URL"] ?? "http://127.0.0.1:8080";

/** Packed once, here, so that the server has nothing to compute; fonts are packed already. */
function packed(): Plugin {
  let out = "";
  return {
    name: "packed",
    apply: "build",
    configResolved: (config) => void (out = join(config.root, config.build.outDir)),
    closeBundle() {
      for (const name of readdirSync(out, { recursive: true, encoding: "utf8" })) {
        if (!/\.(js|css|svg|html|json)$/.test(name)) continue;
        const body = readFileSync(join(out, name));
        if (body.length < 1024) continue;
        writeFileSync(join(out, `${name}.gz`), gzipSync(body, { level: 9 }));
        writeFileSync(join(out, `${name}.br`), brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: body.length } }));
      }
    },
  };
}

export default defineConfig({
  plugins: [react(), packed()],
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
