import { Command } from "commander";
import type { Process, ProcessData, Session } from "@berth/client";
import { withServer } from "../installation/server-call.ts";
import { escapeExceptLayout } from "../terminal/escape-controls.ts";
import { clean, isoOf, orDash, relative, show, table } from "../terminal/output.ts";

// `berth session ps`, `run`, `logs` and `stop`: the processes of a session, through the running server.

interface Options {
  json?: boolean;
  name?: string;
  cwd?: string;
  detach?: boolean;
  follow?: boolean;
}

const ID = "id of a session of the partner `demo`, or of the one whose key BERTH_API_KEY is";

export const processCommands = (): Command[] => [
  new Command("ps").description("list the processes of a session").argument("<id>", ID).option("--json", "print JSON").action(list),
  new Command("run")
    .description("start a command that goes on without this one, show its output, and exit with its code; Ctrl-C leaves it running")
    .argument("<id>", ID)
    .argument("<command...>", "one text for a shell, or `-- program arguments`")
    .option("--name <text>", "a name for people")
    .option("--cwd <folder>", "the folder to start in, below the workspace")
    .option("--detach", "only print the id of the process")
    .option("--json", "print the process as JSON, without its output")
    .action(run),
  new Command("logs")
    .description("print the output of a process, as far as it is kept")
    .argument("<id>", ID)
    .argument("<process>")
    .option("--follow", "go on until the process ends, and exit with its code")
    .action(logs),
  new Command("stop")
    .description("end a process of a session, and forget it")
    .argument("<id>", ID)
    .argument("<process>")
    .action(async (id: string, processId: string) => withSession(id, async ({ processes }) => (await processes.get(processId)).remove())),
];

function withSession(id: string, work: (session: Session) => Promise<void>): Promise<void> {
  return withServer(async ({ sessions, baseUrl }) => {
    const session = await sessions.get(id);
    // Its own address is for partners, and need not lead here from this machine.
    session.sandboxUrl = new URL(new URL(session.sandboxUrl).pathname, baseUrl).href;
    await work(session);
  });
}

async function list(id: string, options: Options): Promise<void> {
  await withSession(id, async ({ processes }) => {
    const found = await processes.list();
    show(options, found, () =>
      table(
        found,
        [
          { name: "process", value: (one) => one.id },
          { name: "name", value: ({ name }) => orDash(name === null ? null : clean(name, 24)) },
          { name: "status", value: statusText },
          { name: "started", value: ({ startedAt }) => relative(Date.parse(startedAt)) },
          { name: "command", value: ({ command }) => clean([command].flat().join(" "), 60) },
        ],
        "No processes.",
      ),
    );
  });
}

function statusText({ status, exitCode, signal }: ProcessData): string {
  return status === "exited" ? `exited (${exitCode ?? signal})` : status;
}

async function run(id: string, words: string[], { name, cwd, detach, json }: Options): Promise<void> {
  await withSession(id, async ({ processes }) => {
    const [only = ""] = words;
    const started = await processes.start(words.length === 1 ? only : words, { ...(name && { name }), ...(cwd && { cwd }) });
    if (json || detach) return show({ json }, started.data, () => `${started.id}\n`);
    process.once("SIGINT", () => {
      process.stderr.write(`\nThe process ${started.id} goes on. \`berth session logs ${id} ${started.id} --follow\` shows its output.\n`);
      process.exit(130);
    });
    await follow(started);
  });
}

async function logs(id: string, processId: string, { follow: goesOn }: Options): Promise<void> {
  await withSession(id, async ({ processes }) => {
    const found = await processes.get(processId);
    if (goesOn) return follow(found);
    const { text, droppedBytes } = await found.read();
    noteDropped(droppedBytes);
    print("stdout", text);
  });
}

async function follow(followed: Process): Promise<void> {
  for await (const event of followed.follow()) {
    if (event.type === "output") print(event.stream, event.data);
    if (event.type === "dropped") noteDropped(event.bytes);
    if (event.type === "end") noteEnd(event.process);
  }
}

// The output may try to control the operator's terminal.
function print(stream: "stdout" | "stderr", text: string): void {
  const target = process[stream];
  target.write(target.isTTY ? text.replaceAll(/[^\t\r]+/g, escapeExceptLayout) : text);
}

function noteDropped(bytes: number): void {
  if (bytes > 0) process.stderr.write(`[${bytes} bytes of older output are no longer kept]\n`);
}

function noteEnd({ status, exitCode, signal, endedAt }: ProcessData): void {
  if (status === "lost") process.stderr.write(`The sandbox was stopped while the process ran (${isoOf(Date.parse(endedAt ?? ""))}).\n`);
  if (signal !== null) process.stderr.write(`The process was ended by ${signal}.\n`);
  process.exitCode = exitCode ?? 1;
}
