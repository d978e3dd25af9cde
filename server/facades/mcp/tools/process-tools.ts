import Type from "typebox";
import { isAppError } from "@berth/contract";
import { OUTPUT_HEADERS, type Process } from "@berth/contract/daemon/processes.ts";
import { StartProcess } from "@berth/contract/schemas/sandbox/sandbox-process.ts";
import { SECOND } from "../../../clock.ts";
import { readStart } from "../read-start.ts";
import type { InSandbox, Sandbox } from "../in-sandbox.ts";
import { jsonResult, MAX_CHARS, plainOutput, textResult } from "../results.ts";
import type { InSession, Tool } from "../tool.ts";
import { sessionId, waitMs } from "./fields.ts";

const PROCESS = { id: "string", pid: "number", status: "string", outputBytes: "number", droppedBytes: "number" } as const;
const STOP_MS = 5 * SECOND;
const { args, env, timeoutMs, name: processName } = StartProcess.properties;

const processId = Type.String({ minLength: 1, maxLength: 300, description: "The id of the process, as process_start returns it." });

export function createProcessTools(inSandbox: InSandbox): Tool[] {
  const read = (sandbox: Sandbox, id: string) => sandbox.read<Process>("GET", `/processes/${encodeURIComponent(id)}`, PROCESS);

  return [
    {
      name: "process_start",
      title: "Start a process",
      description:
        "Starts a program that goes on in the background, such as a development server or a long build, and returns at once. Read what it writes with process_output, and end it with process_stop.",
      input: Type.Object({
        sessionId,
        command: Type.Optional(Type.String({ minLength: 1, description: "Run by `sh -c`. Either this or args." })),
        args,
        cwd: Type.Optional(Type.String({ maxLength: 4096, description: "The folder to run in. Default: the workspace folder." })),
        env,
        timeoutMs,
        name: processName,
      }),
      scope: "sessions",
      tokenScope: "processes",
      hints: { destroys: true },
      call: ({ sessionId: id, ...body }: InSession & { cwd?: string }, call) =>
        inSandbox(call, { sessionId: id }, async (sandbox) => {
          const query = { base: body.cwd?.startsWith("/") ? "home" : "workspace" };
          return jsonResult(toView(await sandbox.read<Process>("POST", "/processes", PROCESS, { query, body })));
        }),
    },
    {
      name: "process_output",
      title: "Read the output of a process",
      description:
        "Returns output of a process and whether it still runs. Without a cursor it is the end of the output so far; with the cursor of the call before it is what came after that. With waitMs the call waits for new output or the end of the process.",
      input: Type.Object({
        sessionId,
        processId,
        cursor: Type.Optional(Type.Integer({ minimum: 0, description: "The nextCursor of the call before; 0 for the beginning." })),
        waitMs: waitMs("How long to wait for something new."),
      }),
      scope: "sessions",
      tokenScope: "processes",
      hints: { reads: true },
      call: (input: InSession & { processId: string; cursor?: number; waitMs?: number }, call) =>
        inSandbox(call, input, async (sandbox) => {
          let process = await read(sandbox, input.processId);
          const from = input.cursor ?? Math.max(process.droppedBytes, process.outputBytes - MAX_CHARS);
          if (process.status === "running" && process.outputBytes <= from && (input.waitMs ?? 0) > 0) {
            await awaitNews(sandbox, process, from, input.waitMs!);
            process = await read(sandbox, input.processId);
          }
          return readOutput(sandbox, process, from);
        }),
    },
    {
      name: "process_stop",
      title: "Stop a process",
      description:
        "Ends a process and everything that it started: with SIGTERM, and after five seconds with SIGKILL. Its output can still be read.",
      input: Type.Object({ sessionId, processId }),
      scope: "sessions",
      tokenScope: "processes",
      hints: { destroys: true, idempotent: true },
      call: (input: InSession & { processId: string }, call) =>
        inSandbox(call, input, async (sandbox) => {
          const path = `/processes/${encodeURIComponent((await read(sandbox, input.processId)).id)}`;
          for (const signal of ["SIGTERM", "SIGKILL"]) {
            await sandbox.call("POST", `${path}/signal`, { body: { signal } }).catch(ignoreEnded);
            const waited = { query: { timeoutMs: String(STOP_MS) } };
            const process = await sandbox.read<Process>("POST", `${path}/wait`, PROCESS, waited);
            if (process.status !== "running") return jsonResult(toView(process));
          }
          return jsonResult(toView(await read(sandbox, input.processId)));
        }),
    },
  ];
}

function ignoreEnded(error: unknown): void {
  if (!isAppError(error, "process_ended")) throw error;
}

// Resolves at the next output of the process, at its end, or when the time is over.
async function awaitNews(sandbox: Sandbox, { id }: Process, from: number, timeMs: number): Promise<void> {
  const headers = { "last-event-id": String(from) };
  const { body } = await sandbox.open("GET", `/processes/${encodeURIComponent(id)}/events`, { headers });
  const timer = setTimeout(() => body.destroy(), timeMs);
  try {
    for await (const chunk of body) if (String(chunk).includes("data: ")) return;
  } catch (error) {
    // The time is over.
    if (!body.destroyed) throw error;
  } finally {
    clearTimeout(timer);
    body.destroy();
  }
}

async function readOutput(sandbox: Sandbox, process: Process, from: number) {
  const { body, headers } = await sandbox.open("GET", `/processes/${encodeURIComponent(process.id)}/output`, {
    query: { offset: String(from) },
  });
  const offset = Number(headers[OUTPUT_HEADERS.offset]) || 0;
  const { text, bytes, isCut } = await readStart(body, MAX_CHARS);
  await sandbox.admitBytes(bytes);
  const nextCursor = offset + bytes;
  const view = toView(process);
  const notes = [
    `${view.status}${view.exitCode === null ? "" : `, exit code ${view.exitCode}`}${view.signal === null ? "" : `, ended by ${view.signal}`}`,
    offset > from
      ? `[${offset - from} bytes before this are no longer kept]`
      : offset > 0
        ? `[${offset} bytes before this; cursor 0 reads from the beginning]`
        : null,
  ];
  const more = isCut ? `[there is more: call again with cursor ${nextCursor}]` : `[the next cursor is ${nextCursor}]`;
  const output = plainOutput(text);
  const lines = [...notes.filter((note) => note !== null), output, more].join("\n");
  return textResult(lines, { ...view, output, offset, nextCursor, hasMore: isCut });
}

const toView = ({ id, name, pid, status, exitCode, signal, timedOut, startedAt, endedAt, outputBytes }: Process) => ({
  processId: id,
  name,
  pid,
  status,
  exitCode,
  signal,
  timedOut,
  startedAt,
  endedAt,
  outputBytes,
});
