import Type from "typebox";
import {
  Changes,
  CreateTerminal,
  ExecEvent,
  ExecRequest,
  FilePath,
  Health,
  PortList,
  SshHost,
  Terminal,
  TerminalList,
} from "../../schemas/sandbox/sandbox.ts";
import { query, route, type SandboxRoute } from "../route.ts";
import { AGENT_ROUTES } from "./agent-routes.ts";
import { GIT_ROUTES } from "./git-routes.ts";
import { FILE_ERRORS } from "./file-parameters.ts";
import { FILE_ROUTES } from "./file-routes.ts";
import { PROCESS_ROUTES } from "./process-routes.ts";
import { WATCH_ROUTES } from "./watch-routes.ts";

// The API of a sandbox below `sandboxUrl`. The daemon in the sandbox answers; these routes only describe it.

const NDJSON = "application/x-ndjson";
const BYTES = "application/octet-stream";
const SANDBOX = "/sandboxes/{sandboxId}";
const path = query("path", "The path, relative to the workspace and separated by `/`.", Type.String({ minLength: 1 }), "required");

export const SANDBOX_ROUTES = {
  getSandboxHealth: route({
    method: "GET",
    path: `${SANDBOX}/health`,
    tag: "Commands",
    tokenScope: "any",
    summary: "Check a sandbox",
    description: "Returns whether the sandbox answers. The bare `sandboxUrl` does the same.",
    success: { status: 200, description: "The sandbox answers.", schema: Health },
    errors: [],
  }),
  exec: route({
    method: "POST",
    path: `${SANDBOX}/exec`,
    tag: "Commands",
    tokenScope: "exec",
    summary: "Run a command",
    description:
      "Runs a command and streams its output. By default each line of the response is one JSON object: `stdout` and `stderr` as they arrive, and `exit` or `error` at the end. With `format=text` the response is the raw output, and the trailer `X-Exit-Code` has the exit code. Closing the connection kills the command. A pause does not: it ends the response with an `error`, and the command goes on when the session is resumed. Processes that it left in the background keep running.",
    query: [query("format", "The format of the response.", Type.Enum(["ndjson", "text"], { default: "ndjson" }))],
    body: { schema: ExecRequest, required: true },
    success: { status: 200, description: "The output of the command.", lines: { media: NDJSON, schema: ExecEvent }, media: ["text/plain"] },
    errors: ["bad_request", "path_outside", "not_found", "shell_unavailable", "too_large", "busy"],
  }),
  getSshHost: route({
    method: "GET",
    path: `${SANDBOX}/ssh`,
    tag: "Commands",
    tokenScope: "ssh",
    summary: "Read the SSH host key",
    description:
      "Returns the key with which the sandbox's SSH server identifies itself. A WebSocket to the same path carries the bytes of an SSH connection.",
    success: { status: 200, description: "The host key.", schema: SshHost },
    errors: [],
  }),
  ...FILE_ROUTES,
  ...WATCH_ROUTES,
  listTerminals: route({
    method: "GET",
    path: `${SANDBOX}/terminals`,
    tag: "Terminals",
    tokenScope: "terminals",
    summary: "List terminals",
    description: "Returns the terminals of the sandbox.",
    success: { status: 200, description: "The terminals.", schema: TerminalList },
    errors: [],
  }),
  createTerminal: route({
    method: "POST",
    path: `${SANDBOX}/terminals`,
    tag: "Terminals",
    tokenScope: "terminals",
    summary: "Create a terminal",
    description: "Starts a program in a new terminal. A sandbox has at most 32 terminals.",
    body: { schema: CreateTerminal, required: true },
    success: { status: 201, description: "The terminal.", schema: Terminal },
    errors: ["bad_request", "path_outside", "not_found", "shell_unavailable", "too_many", "too_large", "busy"],
  }),
  deleteTerminal: route({
    method: "DELETE",
    path: `${SANDBOX}/terminals/{terminalId}`,
    tag: "Terminals",
    tokenScope: "terminals",
    summary: "Delete a terminal",
    description: "Ends the program and removes the terminal.",
    success: { status: 204, description: "The terminal is removed." },
    errors: ["not_found"],
  }),
  listPorts: route({
    method: "GET",
    path: `${SANDBOX}/ports`,
    tag: "Ports",
    tokenScope: "ports",
    summary: "List ports",
    description: "Returns the ports on which programs in the sandbox listen.",
    success: { status: 200, description: "The ports.", schema: PortList },
    errors: [],
  }),
  listChanges: route({
    method: "GET",
    path: `${SANDBOX}/changes`,
    tag: "Changes",
    tokenScope: "files",
    summary: "List changes",
    description: "Returns the files that differ from git's HEAD or, without git, from the start of the session.",
    success: { status: 200, description: "The changes.", schema: Changes },
    errors: ["too_large", "git_failed"],
  }),
  readOriginal: route({
    method: "GET",
    path: `${SANDBOX}/changes/original`,
    tag: "Changes",
    tokenScope: "files",
    summary: "Read the original of a file",
    description: "Returns the bytes of a file before its change. An added file has none.",
    query: [path],
    success: { status: 200, description: "The original content.", media: [BYTES] },
    errors: [...FILE_ERRORS, "too_large", "git_failed"],
  }),
  revertChange: route({
    method: "POST",
    path: `${SANDBOX}/changes/revert`,
    tag: "Changes",
    tokenScope: "files",
    summary: "Revert a change",
    description: "Restores a file to its original, or deletes an added file.",
    body: { schema: FilePath, required: true },
    success: { status: 204, description: "The file is as it was." },
    errors: [...FILE_ERRORS, "too_large", "git_failed", "disk_full"],
  }),
  ...PROCESS_ROUTES,
  ...GIT_ROUTES,
  ...AGENT_ROUTES,
} as const satisfies Record<string, SandboxRoute>;
