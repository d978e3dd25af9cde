import type { ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import type { Readable } from "node:stream";
import type { SearchEvent } from "@berth/contract/daemon.ts";
import { TEMPORARY_PREFIX } from "../files/walk.ts";
import type { WorkspaceFolder } from "../files/workspace-folder.ts";
import { badRequest } from "../http/errors.ts";
import type { Route } from "../http/route.ts";
import { linesOf } from "../io/lines.ts";
import { childProcess } from "../programs/child-process.ts";
import type { Environment } from "../programs/environment.ts";
import { parseLimit } from "./find.ts";
import { createMatchQueue, type MatchQueue } from "./match-queue.ts";

export interface SearchRequest {
  query: string;
  regex: boolean;
  caseSensitive: boolean;
  word: boolean;
  // Globs in the syntax of .gitignore.
  include: string[];
  exclude: string[];
  // Searches only this file.
  file: string | null;
  // How many lines of a file are of interest.
  linesPerFile: number;
}

type Match = Extract<SearchEvent, { type: "match" }>;
type Engine = "ripgrep" | "builtin";

const MAX_LINE = 400;
const MAX_MATCHES = 10_000;
const MAX_COMPLAINT = 4096;

// Searches files in a separate process: ripgrep if the sandbox has it, else search-builtin.ts. A huge tree or a
// catastrophic regular expression cannot block the daemon, and closing the connection kills the process.
export function searchRoutes({ workspace, environment }: { workspace: WorkspaceFolder; environment: Environment }): Route[] {
  return [
    {
      method: "GET",
      path: "/search",
      async handle({ query, response }) {
        const limit = parseLimit(query.get("limit"), 1000, MAX_MATCHES);
        const fileLimit = parseLimit(query.get("fileLimit"), limit, MAX_MATCHES);
        const file = query.get("file");
        const request = {
          ...parseSearch(query),
          file: file === null ? null : await realPath(workspace, file),
          linesPerFile: fileLimit + 1,
        };
        const search = await startSearch(request, workspace.root, environment);
        response.on("close", () => search.program.kill("SIGKILL"));
        response.writeHead(200, { "Content-Type": "application/x-ndjson; charset=utf-8", "Cache-Control": "no-store" });
        await sendMatches(search, createMatchQueue({ limit, fileLimit }), response);
      },
    },
  ];
}

async function realPath(workspace: WorkspaceFolder, path: string): Promise<string> {
  await using pinned = await workspace.pin(path);
  return pinned.real;
}

async function sendMatches({ program, engine }: RunningSearch, queue: MatchQueue, response: ServerResponse): Promise<void> {
  const disconnected = new AbortController();
  response.once("close", () => disconnected.abort());
  const send = (events: SearchEvent[]) => events.forEach((event) => response.write(`${JSON.stringify(event)}\n`));
  const complaint = readComplaint(program.stderr);
  for await (const line of linesOf(program.stdout)) {
    for (const match of engine === "ripgrep" ? parseRipgrep(line) : [JSON.parse(line) as Match]) send(queue.accept(match));
    if (queue.isFull() || response.destroyed) break;
    if (response.writableNeedDrain) await once(response, "drain", { signal: disconnected.signal }).catch(() => {});
  }
  program.kill("SIGKILL");
  send(queue.finish());
  const message = await complaint;
  if (message !== null && queue.totals().matches === 0) send([{ type: "failed", message }]);
  response.end(`${JSON.stringify({ type: "done", ...queue.totals(), engine } satisfies SearchEvent)}\n`);
}

// ripgrep supports fewer regular expressions than the check of the query, and says so only here.
async function readComplaint(stderr: Readable): Promise<string | null> {
  let text = "";
  for await (const chunk of stderr) if (text.length < MAX_COMPLAINT) text += String(chunk);
  const reason = /^error: (.+)$/m.exec(text)?.[1];
  return reason === undefined ? null : `This regular expression is not supported: ${reason}`;
}

type Program = ChildProcessByStdio<null, Readable, Readable>;

interface RunningSearch {
  program: Program;
  engine: Engine;
}

async function startSearch(request: SearchRequest, root: string, environment: Environment): Promise<RunningSearch> {
  const env = environment.forChild();
  const launch = (file: string, args: string[]) => childProcess().spawn(file, args, { cwd: root, env, stdio: ["ignore", "pipe", "pipe"] });
  const ripgrep = launch("rg", ripgrepArguments(request));
  const started = await Promise.race([once(ripgrep, "spawn").then(() => true), once(ripgrep, "error").then(() => false)]).catch(
    () => false,
  );
  if (started) return { program: ripgrep, engine: "ripgrep" };
  return {
    program: launch(process.execPath, [join(import.meta.dirname, "search-builtin.cjs"), JSON.stringify(request)]),
    engine: "builtin",
  };
}

function ripgrepArguments({ query, regex, caseSensitive, word, include, exclude, file, linesPerFile }: SearchRequest): string[] {
  return [
    "--json",
    "--hidden",
    "--no-config",
    "--no-messages",
    "--max-filesize=5M",
    `--max-count=${linesPerFile}`,
    "--sort=path",
    caseSensitive ? "--case-sensitive" : "--ignore-case",
    ...(regex ? [] : ["--fixed-strings"]),
    ...(word ? ["--word-regexp"] : []),
    "--glob=!.git",
    ...include.map((glob) => `--glob=${glob}`),
    ...exclude.map((glob) => `--glob=!${glob}`),
    `--glob=!${TEMPORARY_PREFIX}*`,
    `--regexp=${query}`,
    `./${file ?? ""}`,
  ];
}

interface RipgrepLine {
  type: string;
  data: { path: { text?: string }; lines: { text?: string }; line_number: number; submatches: { start: number; end: number }[] };
}

function parseRipgrep(line: string): Match[] {
  const { type, data } = JSON.parse(line) as RipgrepLine;
  // Skip names and lines that are not UTF-8, which ripgrep puts in another field. An editor could not open them either.
  if (type !== "match" || data.path.text === undefined || data.lines.text === undefined) return [];
  const path = data.path.text.replace(/^\.\//, "");
  const bytes = Buffer.from(data.lines.text);
  const inCharacters = (offset: number) => bytes.subarray(0, offset).toString().length;
  return data.submatches.map(({ start, end }) =>
    matchAt(path, data.line_number, data.lines.text ?? "", inCharacters(start), inCharacters(end) - inCharacters(start)),
  );
}

// `column` counts UTF-16 units from 1, like editors do. For a very long line, `text` is only the part around the match, and
// the column still counts from the start of the line.
export function matchAt(path: string, line: number, text: string, start: number, length: number): Match {
  const from = start + length <= MAX_LINE ? 0 : Math.max(0, start - MAX_LINE / 4);
  return { type: "match", path, line, column: start + 1, length, text: text.slice(from, from + MAX_LINE).replace(/\r?\n$/, "") };
}

function parseSearch(query: URLSearchParams): Omit<SearchRequest, "file" | "linesPerFile"> {
  const wanted = query.get("q") ?? "";
  if (wanted === "" || wanted.length > 1000 || wanted.includes("\0")) throw badRequest("q must have 1 to 1000 characters");
  const flag = (name: string) => query.get(name) === "1" || query.get(name) === "true";
  const globs = (name: string) =>
    (query.get(name) ?? "")
      .split(",")
      .map((glob) => glob.trim())
      .filter((glob) => glob !== "" && !glob.includes("\0"));
  const regex = flag("regex");
  if (regex) checkPattern(wanted);
  return { query: wanted, regex, caseSensitive: flag("case"), word: flag("word"), include: globs("include"), exclude: globs("exclude") };
}

function checkPattern(pattern: string): void {
  try {
    new RegExp(pattern, "u");
  } catch {
    try {
      new RegExp(pattern);
    } catch (error) {
      // The message repeats the expression: "Invalid regular expression: /(/: Unterminated group".
      const reason = (error as Error).message.slice(`Invalid regular expression: /${pattern}/: `.length);
      throw badRequest(`This is not a valid regular expression: ${reason}`);
    }
  }
}
