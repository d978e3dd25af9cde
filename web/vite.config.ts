import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

// The server that `vite` forwards API requests to during development. Open a launch URL on that server first to get its
// cookie, then open the same path here.
const server = process.env.BERTH_BASE_URL ?? "http://localhost:8080";

// The server serves index.html at `/workspace/{sandboxId}/` and the other files at `/workspace/assets/`.
export default defineConfig({
  base: "/workspace/",
  plugins: [react(), preloadModule("text-editor.tsx"), compileWhole(["index", "shell", "code", "text-editor"])],
  server: {
    proxy: {
      "^/workspace/sbx_[^/]+/(api|session|settings|preview)": { target: server, changeOrigin: true, ws: true, headers: { origin: server } },
      "^/console/(partner/)?api/": { target: server, changeOrigin: true, headers: { origin: server } },
    },
  },
  build: {
    outDir: "dist",
    emptyOutDir: true,
    target: "es2022",
    // All browsers with this target know `modulepreload`.
    modulePreload: { polyfill: false },
    // workspace/size.test.ts limits what loads first. Lazy chunks may be large.
    chunkSizeWarningLimit: 1000,
    // Without these groups, code shared with lazy chunks and with the console becomes many small files, and browsers load only six
    // at a time.
    rolldownOptions: {
      input: { index: "index.html", console: "console.html", embed: "embed/embed.ts" },
      // Partners import it.
      preserveEntrySignatures: "exports-only",
      output: {
        entryFileNames: ({ name }) => (name === "embed" ? "embed.js" : "assets/[name]-[hash].js"),
        codeSplitting: {
          groups: [
            {
              name: "shell",
              test: /preload-helper|modulepreload-polyfill|\/node_modules\/(react|react-dom|scheduler|zustand)\/|createLucideIcon|icons\/anchor|\/(parts\/logo|browser\/use-visible-range|browser\/media-query|state\/context|text\/paths|state\/page\/layout|browser\/load-module|browser\/first-text)\.tsx?/,
            },
            { name: "code", test: /\/node_modules\/(@codemirror\/(state|view|language)|@lezer\/(common|highlight))\/|\/editor\/code\// },
          ],
        },
      },
    },
  },
});

// Adds preload links for a lazy module, so that the browser loads and compiles it while the shell starts. Nearly every visit
// needs the editor.
function preloadModule(module: string): Plugin {
  return {
    name: "preload-lazy-module",
    transformIndexHtml: {
      order: "post",
      handler(_html, { bundle = {}, chunk: entry, path }) {
        if (path !== "/index.html") return [];
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

// Chromium compiles files with this comment whole while they load, in the background, instead of each function at its first call on
// the main thread. Only for what every visit needs, because it costs memory. The comment must come first.
function compileWhole(chunks: string[]): Plugin {
  return {
    name: "compile-whole",
    enforce: "post",
    generateBundle: {
      order: "post",
      handler(_options, bundle) {
        for (const file of Object.values(bundle)) {
          // A package may have a chunk with one of these names, as the syntax of shell scripts has.
          if (file.type !== "chunk" || file.facadeModuleId?.includes("/node_modules/")) continue;
          if (chunks.includes(file.name)) file.code = `//# allFunctionsCalledOnLoad\n${file.code}`;
        }
      },
    },
  };
}
