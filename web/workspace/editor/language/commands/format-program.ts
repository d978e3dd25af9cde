import type { ExecEvent } from "@berth/contract/daemon.ts";
import type { Api } from "../../../connection/api.ts";
import { extensionOf } from "../../../text/paths.ts";

export type Formatted = { kind: "formatted"; text: string } | { kind: "none"; hint: string } | { kind: "failed"; message: string };

interface Formatters {
  // Command lines that format standard input, in order of preference. "$1" stands for the path.
  commands: string[];
  hint: string;
}

const PYTHON: Formatters = {
  commands: ['ruff format --stdin-filename "$1" -', 'black -q --stdin-filename "$1" -', "autopep8 -", "yapf"],
  hint: "Install ruff or black, for example with pip.",
};
const PRETTIER: Formatters = { commands: ['prettier --stdin-filepath "$1"'], hint: "Install prettier, for example with npm." };

const BY_EXTENSION: Record<string, Formatters> = {
  py: PYTHON,
  pyi: PYTHON,
  ...Object.fromEntries(
    ["json", "jsonc", "css", "scss", "less", "html", "yaml", "yml", "md", "vue", "svelte"].map((each) => [each, PRETTIER]),
  ),
  sh: { commands: ["shfmt -"], hint: "Install shfmt." },
  bash: { commands: ["shfmt -"], hint: "Install shfmt." },
  go: { commands: ["gofmt"], hint: "Install Go." },
  rs: { commands: ["rustfmt"], hint: "Install rustfmt." },
};

const TIMEOUT_MS = 20_000;
const NOT_INSTALLED = 127;

// Formats a text with a program in the sandbox. Programs of the project take precedence.
export async function formatWithProgram(api: Api, path: string, text: string): Promise<Formatted> {
  const formatters = BY_EXTENSION[extensionOf(path)] ?? { commands: [], hint: "" };
  const tries = formatters.commands.map((line) => `command -v ${line.split(" ")[0]} >/dev/null 2>&1 && exec ${line}`);
  const script = [`PATH="$PWD/node_modules/.bin:$PWD/.venv/bin:$PWD/venv/bin:$PATH"`, ...tries, `exit ${NOT_INSTALLED}`].join("\n");
  const events = await runCommand(api, { command: ["/bin/sh", "-c", script, "sh", path], stdin: text, timeoutMs: TIMEOUT_MS });
  const output = (type: "stdout" | "stderr") => events.map((event) => (event.type === type ? event.data : "")).join("");
  const end = events.at(-1);
  if (end?.type !== "exit") return { kind: "failed", message: end?.type === "error" ? end.message : "The connection was lost" };
  if (end.code === NOT_INSTALLED) return { kind: "none", hint: formatters.hint };
  if (end.code === 0) return { kind: "formatted", text: output("stdout") };
  return {
    kind: "failed",
    message: output("stderr").trim().split("\n").slice(0, 3).join(" ") || `The formatter ended with code ${end.code}`,
  };
}

async function runCommand(api: Api, body: object): Promise<ExecEvent[]> {
  const response = await api.call("api/exec", {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json" },
  });
  const text = await response.text();
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as ExecEvent);
}
