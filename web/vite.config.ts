import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

// For `vite` during development: a running server that answers for sandboxes. Open a launch URL there first, for its
// cookie, then the same path here.
const server = process.env.BERTH_BASE_URL ?? "http://localhost:8080";

// The server gives index.html to `/workspace/{sandboxId}/` and the built files to `/workspace/assets/`.
export default defineConfig({
  base: "/workspace/",
  plugins: [react(), preloadOf("text-editor.tsx")],
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
    // What shell and lazy parts share would be many small files, and a browser asks one server for six at a time.
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            {
              name: "shell",
              test: /preload-helper|\/node_modules\/(react|zustand)\/|createLucideIcon|\/(state\/context|text\/paths|state\/page\/layout)\.ts/,
            },
            { name: "code", test: /\/node_modules\/(@codemirror\/(state|view|language)|@lezer\/(common|highlight))\/|\/editor\/code\// },
          ],
        },
      },
    },
  },
});

// Nearly every visit needs the editor. The page names its files, so that they are on their way and compiled while the shell
// starts, which does not wait for them.
function preloadOf(module: string): Plugin {
  return {
    name: "preload of a lazy part",
    transformIndexHtml: {
      order: "post",
      handler(_html, { bundle = {}, chunk: entry }) {
        const withImports = (name: string): string[] => {
          const chunk = bundle[name];
          return chunk?.type === "chunk" ? [name, ...chunk.imports.flatMap(withImports)] : [];
        };
        const part = Object.values(bundle).find((file) => file.type === "chunk" && file.facadeModuleId?.endsWith(`/${module}`));
        const shell = new Set(entry ? withImports(entry.fileName) : []);
        const names = new Set(part ? withImports(part.fileName).filter((name) => !shell.has(name)) : []);
        return [...names].map((name) => ({
          tag: "link",
          attrs: { rel: "modulepreload", crossorigin: true, "data-part": "lazy", href: `/workspace/${name}` },
          injectTo: "head",
        }));
      },
    },
  };
}
