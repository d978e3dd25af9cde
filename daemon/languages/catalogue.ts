import { existsSync } from "node:fs";
import { basename, isAbsolute, join } from "node:path";
import type { LanguageServerProgram } from "@berth/contract/daemon-internal.ts";
import type { Language } from "@berth/contract/daemon/languages.ts";
import { isProgram } from "../programs/is-program.ts";

// The language servers that Berth knows. Those for TypeScript and Python come with Berth; the others are used if they are
// installed in the sandbox.

// How to start a server, and the options that it is initialized with.
export interface FoundServer {
  name: string;
  command: string;
  args: string[];
  initializationOptions?: unknown;
  settings: Record<string, unknown>;
}

export interface FindOptions {
  // The folder with the servers that come with Berth.
  bundled: string;
  workspace: string;
  // The folders of programs, separated by colons.
  path: string;
  // The template's servers, by language.
  named: Partial<Record<string, LanguageServerProgram>>;
}

type NamedServer = KnownServer & { name: string };
type KnownServer = Omit<FoundServer, "settings" | "name"> & { settings?: Record<string, unknown> };

const stdio = (command: string, more: Partial<KnownServer> = {}): KnownServer => ({ command, args: ["--stdio"], ...more });
const bare = (command: string, ...args: string[]): KnownServer => ({ command, args });
const FORMATTING = { initializationOptions: { provideFormatter: true } };

// The servers of a language are in order of preference.
const INSTALLED: Record<Language, KnownServer[]> = {
  typescript: [stdio("typescript-language-server")],
  python: [stdio("basedpyright-langserver"), stdio("pyright-langserver"), bare("pylsp")],
  go: [bare("gopls")],
  rust: [bare("rust-analyzer")],
  bash: [bare("bash-language-server", "start")],
  json: [stdio("vscode-json-language-server", FORMATTING), stdio("vscode-json-languageserver", FORMATTING)],
  css: [stdio("vscode-css-language-server", FORMATTING)],
  html: [stdio("vscode-html-language-server", FORMATTING)],
  yaml: [stdio("yaml-language-server", { settings: { yaml: { format: { enable: true } } } })],
  c: [bare("clangd", "--background-index=false")],
  csharp: [bare("csharp-ls")],
  dart: [bare("dart", "language-server")],
  dockerfile: [stdio("docker-langserver")],
  elixir: [bare("elixir-ls"), stdio("expert")],
  haskell: [bare("haskell-language-server-wrapper", "--lsp")],
  java: [bare("jdtls")],
  kotlin: [bare("kotlin-language-server")],
  lua: [bare("lua-language-server")],
  markdown: [bare("marksman", "server")],
  ocaml: [bare("ocamllsp")],
  php: [stdio("intelephense"), bare("phpactor", "language-server")],
  ruby: [bare("ruby-lsp"), bare("solargraph", "stdio")],
  svelte: [stdio("svelteserver")],
  swift: [bare("sourcekit-lsp")],
  terraform: [bare("terraform-ls", "serve")],
  toml: [bare("taplo", "lsp", "stdio")],
  vue: [stdio("vue-language-server")],
  zig: [bare("zls")],
};

// The server for a language: the template's, ours, or an installed one. Not cached, because the user may install one at any
// time.
export function findServer(language: string, options: FindOptions): FoundServer | undefined {
  const { named, workspace, path } = options;
  if (!Object.hasOwn(INSTALLED, language)) return undefined;
  const candidates: (KnownServer | NamedServer | LanguageServerProgram | undefined)[] = [
    named[language],
    bundledServer(language, options.bundled),
    ...INSTALLED[language as Language],
  ];
  const folders = [
    join(workspace, "node_modules/.bin"),
    join(workspace, ".venv/bin"),
    ...path.split(":").filter((folder) => folder !== ""),
  ];
  for (const candidate of candidates) {
    if (!candidate) continue;
    const command = locate(candidate.command, folders);
    if (command === undefined) continue;
    const { args = [], settings = {}, initializationOptions } = candidate;
    const name = "name" in candidate ? candidate.name : basename(candidate.command);
    return { name, command, args, initializationOptions, settings: { ...defaultSettings(language, workspace), ...settings } };
  }
  return undefined;
}

function bundledServer(language: string, folder: string): NamedServer | undefined {
  if (language === "typescript") return { name: "TypeScript", command: join(folder, "typescript/tsc"), args: ["--lsp", "--stdio"] };
  // Our own Node runs it, because the sandbox may have none.
  const script = join(folder, "pyright/pyright-langserver.js");
  if (language !== "python" || !existsSync(script)) return undefined;
  return { name: "Pyright", command: process.execPath, args: [script, "--stdio"] };
}

function defaultSettings(language: string, workspace: string): Record<string, unknown> {
  const preferences = {
    // Otherwise a renamed export keeps its old name in other files, behind an alias.
    preferences: { useAliasesForRenames: false },
    // Otherwise opening a file runs `npm install` in the sandbox.
    disableAutomaticTypeAcquisition: true,
  };
  if (language === "typescript") return { typescript: preferences, javascript: preferences, "js/ts": preferences };
  if (language !== "python") return {};
  const python = [".venv/bin/python", "venv/bin/python"].map((each) => join(workspace, each)).find((each) => existsSync(each));
  return { python: { analysis: { diagnosticMode: "openFilesOnly" }, ...(python === undefined ? {} : { pythonPath: python }) } };
}

function locate(command: string, folders: string[]): string | undefined {
  if (isAbsolute(command)) return isProgram(command) ? command : undefined;
  return folders.map((folder) => join(folder, command)).find(isProgram);
}
