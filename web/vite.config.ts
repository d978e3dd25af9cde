import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// For `vite` during development: a running server that answers for sandboxes. Open a launch URL there first, for its
// cookie, then the same path here.
const server = process.env.BERTH_BASE_URL ?? "http://localhost:8080";

// The server gives index.html to `/workspace/{sandboxId}/` and the built files to `/workspace/assets/`.
export default defineConfig({
  base: "/workspace/",
  plugins: [react()],
  server: {
    proxy: {
      "^/workspace/sbx_[^/]+/(api|session|preview)": { target: server, changeOrigin: true, ws: true, headers: { origin: server } },
    },
  },
  build: {
    outDir: "dist",
    emptyOutDir: true,
    target: "es2022",
    // What a browser must load first is counted in workspace/size.test.ts; single lazy chunks may be large.
    chunkSizeWarningLimit: 1000,
  },
});
