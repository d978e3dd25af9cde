import Type, { type TProperties } from "typebox";
import { describe, nullable } from "../describe.ts";

// The bodies of the sandbox API's processes and programs, for its description. The types that the daemon uses are in processes.ts and
// programs.ts.

const named = <P extends TProperties>($id: string, properties: P) => Type.Object(properties, { $id });
const side = (description: string) => Type.Integer({ minimum: 1, maximum: 1000, description });
const size = { cols: side("The width in characters."), rows: side("The height in lines.") };
const stream = Type.Enum(["stdout", "stderr"], describe("The stream that the program wrote to."));

export const StartProcess = named("StartProcess", {
  command: Type.Optional(Type.String({ minLength: 1, description: "Run by `sh -c`. Either this or `args`." })),
  args: Type.Optional(Type.Array(Type.String(), { minItems: 1, description: "A program and its arguments, executed without a shell." })),
  cwd: Type.Optional(Type.String(describe("The folder to run in, relative to the workspace. Default: the workspace."))),
  env: Type.Optional(Type.Record(Type.String(), Type.String(), describe("Environment variables in addition to those of the session."))),
  pty: Type.Optional(Type.Object(size, describe("Run it on a pseudo-terminal of this size. Its output is one stream, `stdout`."))),
  stdin: Type.Optional(Type.Boolean({ default: false, description: "Whether its input stays open for more. It does with `pty`." })),
  timeoutMs: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 86_400_000,
      description: "It and everything that it started are killed after this time. A pause does not count.",
    }),
  ),
  name: Type.Optional(Type.String({ maxLength: 200, description: "A name for people, in lists and events." })),
});

export const Process = named("Process", {
  id: Type.String(describe("The identifier of the process.")),
  name: nullable(Type.String(), "The name that it was started with."),
  command: Type.Union([Type.String(), Type.Array(Type.String())], describe("The `command` or the `args` that it was started with.")),
  cwd: Type.String(describe("The folder that it was started in.")),
  pty: Type.Boolean(describe("Whether it has a pseudo-terminal.")),
  pid: Type.Integer(describe("Its number in the sandbox.")),
  status: Type.Enum(
    ["running", "exited", "lost"],
    describe("`lost`: the sandbox was stopped while it ran, so nothing is known about its end."),
  ),
  exitCode: nullable(Type.Integer(), "The exit code; null while it runs, if a signal ended it, and if it is lost."),
  signal: nullable(Type.String(), "The signal that ended it, such as `SIGKILL`."),
  timedOut: Type.Boolean(describe("Whether `timeoutMs` ended it.")),
  startedAt: Type.String({ format: "date-time", description: "When it was started." }),
  endedAt: nullable(Type.String({ format: "date-time" }), "When it ended; null while it runs."),
  outputBytes: Type.Integer(describe("The bytes of its output so far.")),
  droppedBytes: Type.Integer(describe("How many of the oldest bytes are no longer kept.")),
});

export const ProcessList = named("ProcessList", {
  processes: Type.Array(Process, describe("The processes that run and those that ended lately, oldest first.")),
});

export const ProcessEvent = Type.Union(
  [
    Type.Object({ type: Type.Literal("start", describe("The first event, if the request has started the process.")), process: Process }),
    Type.Object({
      type: Type.Literal("output", describe("The program has written something.")),
      stream,
      data: Type.String(describe("A piece of the output; with `encoding=base64` its bytes.")),
    }),
    Type.Object({
      type: Type.Literal("dropped", describe("A part of the output is no longer kept.")),
      bytes: Type.Integer(describe("How much of it this response does not have.")),
    }),
    Type.Object({ type: Type.Literal("end", describe("The last event.")), process: Process }),
  ],
  { $id: "ProcessEvent" },
);

export const ResizeProcess = named("ResizeProcess", size);
export const SignalProcess = named("SignalProcess", { signal: Type.String(describe("The name of the signal, such as `SIGINT`.")) });

const ProgramEnd = Type.Object({
  status: Type.Enum(["exited", "lost"], describe("See `status` of a process.")),
  exitCode: nullable(Type.Integer(), "The exit code; null if a signal ended it, and if it is lost."),
  signal: nullable(Type.String(), "The signal that ended it."),
  timedOut: Type.Boolean(describe("Whether `timeoutMs` ended it.")),
  at: Type.String({ format: "date-time", description: "When it ended." }),
});

export const Program = named("Program", {
  id: Type.String(describe("The id of the process or of the terminal; otherwise a name that is valid while it runs.")),
  kind: Type.Enum(
    ["process", "command", "terminal", "agent", "language", "listener"],
    describe(
      "A process of the API, a command of `exec` or of the source control, a terminal, the agent, a language server, or a `listener`: a group of processes that one of the others has started and that listens on a port.",
    ),
  ),
  title: Type.String(describe("A name or a command line, without control characters and at most 200 characters long.")),
  parentId: nullable(Type.String(), "The program that has started a listener."),
  pid: Type.Integer(describe("Its number in the sandbox.")),
  startedAt: Type.String({ format: "date-time", description: "When it was started." }),
  cpuMs: nullable(Type.Integer(), "Milliseconds of processor time of its processes, with children that have ended."),
  memoryBytes: nullable(Type.Integer(), "The memory of its processes. Memory that several of them share counts for each."),
  ports: Type.Array(Type.Integer(), describe("The ports on which it listens.")),
  end: nullable(ProgramEnd, "How a process of the API has ended; null while the program runs."),
});

export const ProgramList = named("ProgramList", {
  programs: Type.Array(Program, describe("The programs that run, and then the processes that ended lately.")),
  at: Type.String({ format: "date-time", description: "When the list was made." }),
});
