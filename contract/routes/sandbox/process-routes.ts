import Type from "typebox";
import type { ErrorCode } from "../../errors.ts";
import {
  Process,
  ProcessEvent,
  ProcessList,
  ProgramList,
  ResizeProcess,
  SignalProcess,
  StartProcess,
} from "../../schemas/sandbox/sandbox-process.ts";
import { header, query, route, type SandboxRoute } from "../route.ts";
import { base } from "./file-parameters.ts";

const PROCESSES = "/sandboxes/{sandboxId}/processes";
const PROCESS = `${PROCESSES}/{processId}`;
const PROGRAMS = "/sandboxes/{sandboxId}/programs";
const BYTES = "application/octet-stream";
const RUNNING = ["bad_request", "not_found", "process_ended"] as const satisfies ErrorCode[];

export const PROCESS_ROUTES = {
  startProcess: route({
    method: "POST",
    path: PROCESSES,
    tag: "Processes",
    tokenScope: "processes",
    summary: "Start a process",
    description:
      "Starts a program that goes on without its caller, and through a pause of the session. The response does not wait for its end. The event `process.exited` says how it ended. Of its output, the last MiB is kept. With `Accept: text/event-stream`, the response has the events of the process, and a `start` first.",
    query: [base],
    body: { schema: StartProcess, required: true },
    success: {
      status: 201,
      description: "The process.",
      schema: Process,
      also: [{ status: 200, description: "Its events.", media: ["text/event-stream"] }],
    },
    errors: ["bad_request", "path_outside", "not_found", "shell_unavailable", "too_large", "too_many", "busy"],
  }),
  listProcesses: route({
    method: "GET",
    path: PROCESSES,
    tag: "Processes",
    tokenScope: "processes",
    summary: "List processes",
    description: "Returns the processes that run, and the last 100 that ended within an hour.",
    success: { status: 200, description: "The processes, oldest first.", schema: ProcessList },
    errors: [],
  }),
  getProcess: route({
    method: "GET",
    path: PROCESS,
    tag: "Processes",
    tokenScope: "processes",
    summary: "Get a process",
    description:
      "Returns a process and, if it has ended, how. Here and below, `processId` may also be the `pid` of a process that runs, or `~` and its name.",
    success: { status: 200, description: "The process.", schema: Process },
    errors: ["not_found"],
  }),
  deleteProcess: route({
    method: "DELETE",
    path: PROCESS,
    tag: "Processes",
    tokenScope: "processes",
    summary: "End and forget a process",
    description: "Ends the process and everything that it started, if it runs, and removes it from the list.",
    success: { status: 204, description: "The process is ending or has ended." },
    errors: ["not_found"],
  }),
  readProcessOutput: route({
    method: "GET",
    path: `${PROCESS}/output`,
    tag: "Processes",
    tokenScope: "processes",
    summary: "Read the output of a process",
    description:
      "Returns the output that is kept, from an offset on. The header `X-Output-Offset` has the offset of the first byte, `X-Output-Next` the offset for the next call, and `X-Output-Dropped` the number of bytes that are no longer kept.",
    query: [
      query(
        "stream",
        "The stream. Default: both, in the order in which they were written. Each has offsets of its own.",
        Type.Enum(["stdout", "stderr"]),
      ),
      query("offset", "The first byte, counted from the start of the stream.", Type.Integer({ minimum: 0, default: 0 })),
    ],
    success: { status: 200, description: "The output.", media: [BYTES] },
    errors: ["bad_request", "not_found"],
  }),
  followProcess: route({
    method: "GET",
    path: `${PROCESS}/events`,
    tag: "Processes",
    tokenScope: "processes",
    summary: "Follow a process",
    description:
      "Streams the output that is kept, and what follows until the process ends, as server-sent events. After a lost connection, the header `Last-Event-ID` continues after that event: nothing is repeated, and `dropped` says what is missing.",
    query: [
      header("Last-Event-ID", "The `id:` of the last event that was received."),
      query("encoding", "How `data` is written.", Type.Enum(["utf8", "base64"], { default: "utf8" })),
    ],
    success: {
      status: 200,
      description: "The events.",
      lines: { media: "text/event-stream", schema: ProcessEvent },
      also: [{ status: 204, description: "The process has ended, and `Last-Event-ID` is its last event." }],
    },
    errors: ["bad_request", "not_found"],
  }),
  writeProcessInput: route({
    method: "POST",
    path: `${PROCESS}/stdin`,
    tag: "Processes",
    tokenScope: "processes",
    summary: "Write to a process",
    description: "Writes the body to the input of the process. The response comes when the program has taken it.",
    upload: BYTES,
    success: { status: 204, description: "The input is written." },
    errors: [...RUNNING, "input_closed"],
  }),
  closeProcessInput: route({
    method: "POST",
    path: `${PROCESS}/stdin/close`,
    tag: "Processes",
    tokenScope: "processes",
    summary: "End the input of a process",
    description: "The program finds the end of its input.",
    success: { status: 204, description: "The input has ended." },
    errors: RUNNING,
  }),
  resizeProcess: route({
    method: "POST",
    path: `${PROCESS}/resize`,
    tag: "Processes",
    tokenScope: "processes",
    summary: "Resize the terminal of a process",
    description: "Changes the size of its pseudo-terminal.",
    body: { schema: ResizeProcess, required: true },
    success: { status: 204, description: "The size is changed." },
    errors: RUNNING,
  }),
  signalProcess: route({
    method: "POST",
    path: `${PROCESS}/signal`,
    tag: "Processes",
    tokenScope: "processes",
    summary: "Send a signal to a process",
    description: "Sends a signal to the process and everything that it started.",
    body: { schema: SignalProcess, required: true },
    success: { status: 204, description: "The signal is sent." },
    errors: RUNNING,
  }),
  waitForProcess: route({
    method: "POST",
    path: `${PROCESS}/wait`,
    tag: "Processes",
    tokenScope: "processes",
    summary: "Wait for the end of a process",
    description: "Returns the process when it has ended, or as it is after the given time.",
    query: [query("timeoutMs", "How long to wait at most.", Type.Integer({ minimum: 0, maximum: 600_000, default: 30_000 }))],
    success: { status: 200, description: "The process.", schema: Process },
    errors: ["bad_request", "not_found"],
  }),
  listPrograms: route({
    method: "GET",
    path: PROGRAMS,
    tag: "Processes",
    tokenScope: "processes",
    summary: "List programs",
    description:
      "Returns everything that runs in the sandbox, with its processor time, memory and ports: processes, commands, terminals, the agent, language servers, and programs that they have started and that listen on a port. Processes that ended lately follow.",
    success: { status: 200, description: "The programs.", schema: ProgramList },
    errors: [],
  }),
  stopProgram: route({
    method: "POST",
    path: `${PROGRAMS}/{programId}/stop`,
    tag: "Processes",
    tokenScope: "processes",
    summary: "Stop a program",
    description:
      "Asks the program and its process group to end, and kills what is left of them after two seconds. A stopped process stays in the list, and a stopped terminal keeps its output. The agent and a language server start again when a person uses them.",
    success: { status: 202, description: "The program is ending." },
    errors: ["not_found"],
  }),
} as const satisfies Record<string, SandboxRoute>;
