import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Static, TSchema } from "typebox";
import { expect, test } from "vitest";
import type * as agent from "../../agent.ts";
import type * as changes from "../../changes.ts";
import type * as daemon from "../../daemon.ts";
import type * as git from "../../git.ts";
import type * as questions from "../../questions.ts";
import type * as files from "../../daemon/files.ts";
import type * as processes from "../../daemon/processes.ts";
import type * as programs from "../../daemon/programs.ts";
import { SANDBOX_ROUTES } from "../../routes/sandbox/sandbox-routes.ts";
import { SANDBOX_SOCKETS } from "../../routes/token-scopes.ts";
import type * as agentSchemas from "./sandbox-agent.ts";
import type * as conversationSchemas from "./sandbox-conversation.ts";
import type * as fileSchemas from "./sandbox-files.ts";
import type * as gitSchemas from "./sandbox-git.ts";
import type * as processSchemas from "./sandbox-process.ts";
import type * as schemas from "./sandbox.ts";

const root = join(import.meta.dirname, "../../..");

test("the description has every route of the daemon that callers can reach, and no other", () => {
  const sources = globSync("daemon/**/*.ts", {
    cwd: root,
    exclude: ["**/*.test.ts", "**/dist*/**", "**/node_modules/**", "**/testing/**"],
  });
  const texts = sources.map((file) => readFileSync(join(root, file), "utf8"));
  const routes = texts
    .flatMap((text) => [...text.matchAll(/method: "([A-Z]+)",\s+path: "([^"]+)"/g)])
    .filter(([, method, path]) => method !== "HEAD" && !path!.startsWith("/internal/"))
    .map(([, method, path]) => `${method} ${path}`);
  // The routes of git that change a repository are POST routes, made by two functions.
  const changes = texts.flatMap((text) => [...text.matchAll(/^ +(?:change|follow)\("(\/git\/[^"]+)"/gm)]).map(([, path]) => `POST ${path}`);
  const ofProcesses = texts
    .flatMap((text) => [...text.matchAll(/^ +route\("([A-Z]+)", "(\/processes[^"]*)"/gm)])
    .map(([, method, path]) => `${method} ${path}`);
  const served = [...routes, ...changes, ...ofProcesses];
  const described = Object.values(SANDBOX_ROUTES).map(({ method, path }) => `${method} ${path.replace("/sandboxes/{sandboxId}", "")}`);
  expect(served.length).toBeGreaterThan(20);
  const inOneForm = (routes: string[]) => routes.map((route) => route.replaceAll(/\{\w+\}|:\w+/g, "*")).toSorted();
  expect(inOneForm(described)).toEqual(inOneForm(served));
});

test("every WebSocket of the daemon has a scope for tokens, or none on purpose", () => {
  const sources = globSync("daemon/**/*.ts", {
    cwd: root,
    exclude: ["**/*.test.ts", "**/dist*/**", "**/node_modules/**", "**/testing/**"],
  });
  const texts = sources.map((file) => readFileSync(join(root, file), "utf8"));
  const served = texts.flatMap((text) => [...text.matchAll(/path: "([^"]+)",\s+(?:async )?upgrade\b/g)]).map(([, path]) => path!);
  const outside = served.filter((path) => !path.startsWith("/ports/") && !path.startsWith("/internal/"));
  const known = SANDBOX_SOCKETS.map(([path]) => path.replaceAll(/\{\w+\}/g, "*"));
  expect(outside.map((path) => path.replaceAll(/:\w+/g, "*")).toSorted()).toEqual(known.toSorted());
});

// Fails to compile if a described body and the type that the daemon uses differ.
type Fits<Described, Used> = [Described] extends [Used]
  ? [Used] extends [Described]
    ? true
    : "the schema lacks something"
  : "the type lacks something";
type Body<Schemas, Name extends keyof Schemas> = Schemas[Name] extends TSchema ? Static<Schemas[Name]> : never;
type Of<Name extends keyof typeof schemas> = Body<typeof schemas, Name>;
type GitOf<Name extends keyof typeof gitSchemas> = Body<typeof gitSchemas, Name>;
type FileOf<Name extends keyof typeof fileSchemas> = Body<typeof fileSchemas, Name>;
type ProcessOf<Name extends keyof typeof processSchemas> = Body<typeof processSchemas, Name>;
type ItemOf<Name extends keyof typeof conversationSchemas> = Body<typeof conversationSchemas, Name>;
type AgentOf<Name extends keyof typeof agentSchemas> = Body<typeof agentSchemas, Name>;

test("the described bodies are the types that the daemon uses", () => {
  const checks: [
    Fits<Of<"ExecRequest">, daemon.ExecRequest>,
    Fits<Of<"ExecEvent">, daemon.ExecEvent>,
    Fits<Of<"FolderListing">, daemon.FolderListing>,
    Fits<Of<"WrittenFile">, daemon.WrittenFile>,
    Fits<Of<"MoveRequest">, daemon.MoveRequest>,
    Fits<Of<"CopyRequest">, daemon.CopyRequest>,
    Fits<Of<"TrashedFiles">, daemon.TrashedFiles>,
    Fits<Of<"SearchEvent">, daemon.SearchEvent>,
    Fits<Of<"Terminal">, daemon.Terminal>,
    Fits<Of<"PortList">["ports"][number], daemon.ListeningPort>,
    Fits<Of<"Changes">, changes.Changes>,
    Fits<Of<"Health">, daemon.Health>,
    Fits<GitOf<"GitStatus">, git.GitStatus>,
    Fits<GitOf<"GitBranches">["branches"][number], git.GitBranch>,
    Fits<GitOf<"SwitchBranch">, git.SwitchBranch>,
    Fits<GitOf<"GitPaths">, git.GitPaths>,
    Fits<GitOf<"CommitRequest">, git.CommitRequest>,
    Fits<GitOf<"SyncRequest">, git.SyncRequest>,
    Fits<GitOf<"GitEvent">, git.GitEvent>,
    Fits<GitOf<"GitIdentity">, git.GitIdentity>,
    Fits<GitOf<"GitRemote">, git.GitRemote>,
    Fits<GitOf<"GitHistory">["commits"][number], git.GitCommit>,
    Fits<AgentOf<"AgentState">, daemon.AgentState>,
    Fits<AgentOf<"PromptRequest">, agent.PromptRequest>,
    Fits<AgentOf<"Conversation">, agent.Conversation>,
    Fits<ItemOf<"ConversationItem">, agent.ConversationItem>,
    Fits<ItemOf<"FormField">, questions.FormField>,
    Fits<FileOf<"FileTree">, files.FileTree>,
    Fits<FileOf<"WatchEvent">, files.WatchEvent>,
    Fits<FileOf<"WatcherEvents">, files.WatcherEvents>,
    Fits<ProcessOf<"StartProcess">, processes.StartProcess>,
    Fits<ProcessOf<"Process">, processes.Process>,
    Fits<ProcessOf<"ProcessEvent">, processes.ProcessEvent>,
    Fits<ProcessOf<"ProgramList">, programs.ProgramList>,
  ] = [
    true,
    true,
    true,
    true,
    true,
    true,
    true,
    true,
    true,
    true,
    true,
    true,
    true,
    true,
    true,
    true,
    true,
    true,
    true,
    true,
    true,
    true,
    true,
    true,
    true,
    true,
    true,
    true,
    true,
    true,
    true,
    true,
    true,
    true,
  ];
  expect(checks).not.toContain(false);
});
