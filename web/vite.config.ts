import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { devHarness } from "./dev/harness.ts";

// The server gives index.html to `/workspace/{sandboxId}/` and the built files to `/workspace/assets/`.
export default defineConfig({
  base: "/workspace/",
  plugins: [react(), devHarness()],
  build: {
    outDir: "dist",
    emptyOutDir: true,
    target: "es2022",
    // What a browser must load first is counted in workspace/size.test.ts; single lazy chunks may be large.
    chunkSizeWarningLimit: 1000,
  },
});
