// WebSocket /languages/{language}: a language server of its own for this connection. The first text frame is LanguageServer.
// After that, each text frame is one message of the Language Server Protocol, without the header. The server ends with the
// connection. Plain types, no imports: the browser loads this file too.
//
// Close codes (CLOSE in daemon.ts): `noLanguageServer` if none is installed for the language, `languageServerFailed` if it
// ended, sent too much or used too much memory, `languageServerIdle` if the connection was not used for a while, and 1013 if
// too many servers run already.
export interface LanguageServer {
  // The name of the program, for people.
  name: string;
  // The workspace as a file: URI without a final slash.
  rootUri: string;
  // Sent with `initialize`.
  initializationOptions?: unknown;
  // The values for `workspace/configuration`, by section.
  settings: Record<string, unknown>;
}

// The languages that the workspace recognizes by file name. A template can name a server for each of them.
export const LANGUAGES = [
  "typescript",
  "python",
  "go",
  "rust",
  "bash",
  "json",
  "css",
  "html",
  "yaml",
  "c",
  "csharp",
  "dart",
  "dockerfile",
  "elixir",
  "haskell",
  "java",
  "kotlin",
  "lua",
  "markdown",
  "ocaml",
  "php",
  "ruby",
  "svelte",
  "swift",
  "terraform",
  "toml",
  "vue",
  "zig",
] as const;
export type Language = (typeof LANGUAGES)[number];
