import type { ServerResponse } from "node:http";
import { StringDecoder } from "node:string_decoder";
import type { ExecEvent } from "@berth/contract/daemon.ts";
import { AppError } from "@berth/contract/errors.ts";
import type { WorkspaceFolder } from "../files/workspace-folder.ts";
import { readJson } from "../http/body.ts";
import { badRequest } from "../http/errors.ts";
import type { Pauses } from "../http/pauses.ts";
import type { Call, Route } from "../http/route.ts";
import { afterRunningTime } from "../io/running-time.ts";
import type { Environment } from "../programs/environment.ts";
import { parseProgram } from "../programs/parse-program.ts";
import { killProgram, onceOver, type Program, startProgram, startWithoutInput } from "../programs/program.ts";
import { startFailure } from "../programs/start-failure.ts";

type EndEvent = Extract<ExecEvent, { type: "exit" | "error" }>;

const PAUSED: EndEvent = {
  type: "error",
  code: "session_paused",
  message: "The session was paused. The command goes on when the session is resumed, but its output is lost.",
};

export interface ExecDeps {
  environment: Environment;
  workspace: WorkspaceFolder;
  pauses: Pick<Pauses, "onBegin" | "isUnderWay">;
}

export function execRoutes({ environment, workspace, pauses }: ExecDeps): Route[] {
  return [
    {
      method: "POST",
      path: "/exec",
      async handle(call) {
        const { request, response, query } = call;
        const format = parseFormat(query.get("format"));
        const wanted = parseExec(await readJson(request));
        const cwd = await workspace.folderPath(wanted.cwd);
        if (pauses.isUnderWay) throw new AppError("session_paused");
        const program = start(wanted, { cwd, env: environment.forChild(wanted.env) });
        const output = format === "text" ? textOutput(response) : jsonOutput(response);
        await run(program, wanted, call, output, pauses);
      },
    },
  ];
}

function start({ words, stdin }: ReturnType<typeof parseExec>, options: { cwd: string; env: Record<string, string> }): Program {
  if (!stdin) return startWithoutInput(words, options);
  const program = startProgram(words, options);
  program.stdin.end(stdin);
  return program;
}

interface Output {
  write(source: "stdout" | "stderr", chunk: Buffer): boolean;
  end(event: EndEvent): void;
}

async function run(
  program: Program,
  { timeoutMs }: { timeoutMs: number | null },
  { response, onGone }: Pick<Call, "response" | "onGone">,
  output: Output,
  pauses: Pick<Pauses, "onBegin">,
): Promise<void> {
  const { stdout, stderr } = program;
  let timedOut = false;
  const cancelTimeout = timeoutMs === null ? null : afterRunningTime(timeoutMs, () => ((timedOut = true), killProgram(program)));
  onGone(() => killProgram(program));
  const resume = () => {
    stdout.resume();
    stderr.resume();
  };
  // Output that no caller reads is dropped. A command whose pipe is full would stand still, and one whose pipe is closed would end.
  let isRead = true;
  const drop = () => {
    isRead = false;
    resume();
  };
  response.on("drain", resume);
  response.on("close", drop);
  using _pauses = pauses.onBegin(() => {
    if (isRead) output.end(PAUSED);
    drop();
  });
  const read = (source: "stdout" | "stderr") => (chunk: Buffer) => {
    if (!isRead || output.write(source, chunk)) return;
    stdout.pause();
    stderr.pause();
  };
  stdout.on("data", read("stdout"));
  stderr.on("data", read("stderr"));

  const end = await new Promise<EndEvent>((resolve) => {
    program.once("error", (error) => resolve({ type: "error", message: startFailure(error) }));
    onceOver(program, () => {
      const { exitCode: code, signalCode: signal } = program;
      resolve({ type: "exit", code, signal, ...(timedOut ? { timedOut } : {}) });
    });
  });
  cancelTimeout?.();
  if (isRead) output.end(end);
}

function jsonOutput(response: ServerResponse): Output {
  response.writeHead(200, { "Content-Type": "application/x-ndjson; charset=utf-8", "Cache-Control": "no-store" });
  const stopWaiting = sendHeadSoon(response);
  // A chunk may end inside a character.
  const decoders = { stdout: new StringDecoder("utf8"), stderr: new StringDecoder("utf8") };
  const line = (event: ExecEvent) => response.write(`${JSON.stringify(event)}\n`);
  return {
    write(source, chunk) {
      const data = decoders[source].write(chunk);
      return data === "" || line({ type: source, data });
    },
    end(event) {
      stopWaiting();
      for (const source of ["stdout", "stderr"] as const) {
        const data = decoders[source].end();
        if (data !== "") line({ type: source, data });
      }
      line(event);
      response.end();
    },
  };
}

function textOutput(response: ServerResponse): Output {
  response.writeHead(200, { "Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store", Trailer: "X-Exit-Code" });
  const stopWaiting = sendHeadSoon(response);
  return {
    write: (_source, chunk) => response.write(chunk),
    end(event) {
      stopWaiting();
      if (event.type === "error") response.write(`${event.message}\n`);
      response.addTrailers({ "X-Exit-Code": event.type === "exit" ? String(event.code ?? event.signal) : "error" });
      response.end();
    },
  };
}

const HEAD_AFTER_MS = 20;

// The caller of a command that is silent learns that it runs. That of a short one gets everything at once. No-op after output.
function sendHeadSoon(response: ServerResponse): () => void {
  const timer = setTimeout(() => response.flushHeaders(), HEAD_AFTER_MS);
  return () => clearTimeout(timer);
}

function parseFormat(format: string | null): "ndjson" | "text" {
  if (format === null || format === "ndjson") return "ndjson";
  if (format === "text") return "text";
  throw badRequest("format must be ndjson or text");
}

function parseExec(body: Record<string, unknown>) {
  const { stdin } = body;
  if (stdin !== undefined && typeof stdin !== "string") throw badRequest("stdin must be a string");
  return { ...parseProgram(body), stdin };
}
