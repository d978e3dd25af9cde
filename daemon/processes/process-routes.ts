import { constants } from "node:os";
import { AppError } from "@berth/contract/errors.ts";
import { OUTPUT_HEADERS, type ProcessStream } from "@berth/contract/daemon/processes.ts";
import type { Bases } from "../files/bases.ts";
import { readJson } from "../http/body.ts";
import { badRequest, notFound } from "../http/errors.ts";
import { sendJson } from "../http/reply.ts";
import type { Call, Route } from "../http/route.ts";
import { isSize } from "../programs/pty/pty.ts";
import { parseProgram } from "../programs/parse-program.ts";
import type { LiveProcess } from "./process.ts";
import { sendProcessEvents } from "./process-events.ts";
import type { Processes, WantedProcess } from "./processes.ts";
import type { Running } from "../programs/running.ts";

const MAX_NAME_LENGTH = 200;
const WAIT_MS = 30_000;
const MAX_WAIT_MS = 600_000;

export function processRoutes(processes: Processes, bases: Bases): Route[] {
  const found = (call: Call): LiveProcess => {
    const process = processes.find(call.params.id ?? "");
    if (!process) throw notFound("There is no such process");
    return process;
  };
  const running = (call: Call): Running => {
    const { running: live } = found(call);
    if (!live) throw new AppError("process_ended");
    return live;
  };
  const route = (method: string, path: string, handle: Route["handle"]): Route => ({ method, path, handle });

  return [
    route("GET", "/processes", ({ response }) => sendJson(response, 200, { processes: processes.list() })),
    route("POST", "/processes", (call) => startAndDescribe(processes, bases, call)),
    route("GET", "/processes/:id", (call) => sendJson(call.response, 200, found(call).describe())),
    route("DELETE", "/processes/:id", (call) => {
      processes.remove(found(call));
      call.response.writeHead(204).end();
    }),
    route("GET", "/processes/:id/output", (call) => sendOutput(found(call), call)),
    route("GET", "/processes/:id/events", (call) => sendProcessEvents(found(call), call)),
    route("POST", "/processes/:id/stdin", async (call) => {
      const live = running(call);
      if (!live.takesInput) throw new AppError("input_closed");
      // The program may never read it. Then the caller gives up, or ends the program.
      const gone = new Promise<void>((resolve) => call.response.once("close", resolve));
      for await (const chunk of call.request as AsyncIterable<Buffer>)
        if (!live.write(chunk)) await Promise.race([gone, new Promise<void>((resolve) => live.drained(resolve))]);
      call.response.writeHead(204).end();
    }),
    route("POST", "/processes/:id/stdin/close", (call) => {
      running(call).closeInput();
      call.response.writeHead(204).end();
    }),
    route("POST", "/processes/:id/resize", async (call) => {
      const { cols, rows } = await readJson(call.request);
      if (!isSize(cols) || !isSize(rows)) throw badRequest(SIZE_RULE);
      if (!found(call).describe().pty) throw badRequest("The process has no pseudo-terminal");
      running(call).resize(cols, rows);
      call.response.writeHead(204).end();
    }),
    route("POST", "/processes/:id/signal", async (call) => {
      const { signal } = await readJson(call.request);
      if (!isSignal(signal)) throw badRequest("signal must be the name of a signal, such as SIGINT");
      running(call).signal(signal);
      call.response.writeHead(204).end();
    }),
    route("POST", "/processes/:id/wait", async (call) => {
      const process = found(call);
      await ended(process, parseWait(call.query.get("timeoutMs")), call);
      sendJson(call.response, 200, process.describe());
    }),
  ];
}

export async function startAndDescribe(processes: Pick<Processes, "start">, bases: Bases, call: Call): Promise<void> {
  const process = await processes.start(parseStart(await readJson(call.request)), bases.of(call));
  if (call.request.headers.accept === "text/event-stream") await sendProcessEvents(process, call, { announce: process.describe() });
  else sendJson(call.response, 201, process.describe());
}

const SIZE_RULE = "cols and rows must be integers from 1 to 1000";

function sendOutput(process: LiveProcess, { query, response }: Call): void {
  const stream = query.get("stream");
  if (stream !== null && stream !== "stdout" && stream !== "stderr") throw badRequest("stream must be stdout or stderr");
  const { bytes, offset, dropped } = process.log.collect(stream as ProcessStream | null, parseOffset(query.get("offset")));
  response.writeHead(200, {
    "Content-Type": "application/octet-stream",
    "Content-Length": bytes.length,
    "Cache-Control": "no-store",
    [OUTPUT_HEADERS.offset]: offset,
    [OUTPUT_HEADERS.next]: offset + bytes.length,
    [OUTPUT_HEADERS.dropped]: dropped,
  });
  response.end(bytes);
}

function ended(process: LiveProcess, timeoutMs: number, { response }: Call): Promise<void> {
  return new Promise((resolve) => {
    if (!process.running) return resolve();
    const done = () => {
      news[Symbol.dispose]();
      clearTimeout(timer);
      resolve();
    };
    const news = process.onNews(() => process.running ?? done());
    const timer = setTimeout(done, timeoutMs);
    response.once("close", done);
  });
}

function parseStart(body: Record<string, unknown>): WantedProcess {
  const { command, args, pty = null, stdin = false, name = null } = body;
  if ((command === undefined) === (args === undefined)) throw badRequest("Either command or args is required");
  if (command !== undefined && typeof command !== "string") throw badRequest("command must be a string; args takes an array");
  if (args !== undefined && !Array.isArray(args)) throw badRequest("args must be an array of strings");
  if (typeof stdin !== "boolean") throw badRequest("stdin must be a boolean");
  if (name !== null && (typeof name !== "string" || name.length > MAX_NAME_LENGTH))
    throw badRequest(`name must be a string of at most ${MAX_NAME_LENGTH} characters`);
  return { ...parseProgram({ ...body, command: command ?? args }), pty: parsePty(pty), hasStdin: stdin || pty !== null, name };
}

function parsePty(pty: unknown): WantedProcess["pty"] {
  if (pty === null) return null;
  const { cols, rows } = typeof pty === "object" ? (pty as Record<string, unknown>) : {};
  if (!isSize(cols) || !isSize(rows)) throw badRequest(`pty must be an object: ${SIZE_RULE}`);
  return { cols, rows };
}

function parseOffset(text: string | null): number {
  if (text === null) return 0;
  if (!/^\d{1,15}$/.test(text)) throw badRequest("offset must be a number of bytes");
  return Number(text);
}

function parseWait(text: string | null): number {
  if (text === null) return WAIT_MS;
  if (!/^\d{1,6}$/.test(text) || Number(text) > MAX_WAIT_MS) throw badRequest(`timeoutMs must be an integer from 0 to ${MAX_WAIT_MS}`);
  return Number(text);
}

const isSignal = (value: unknown): value is NodeJS.Signals => typeof value === "string" && Object.hasOwn(constants.signals, value);
