import Type from "typebox";
import type { ExecEvent, ExecRequest } from "@berth/contract/daemon.ts";
import { AppError } from "@berth/contract";
import { splitLines } from "../../../bounded-io/split-lines.ts";
import { SECOND } from "../../../clock.ts";
import type { InSandbox } from "../in-sandbox.ts";
import { createBoundedText, joinBounded, MAX_CHARS, textResult } from "../results.ts";
import type { InSession, Tool } from "../tool.ts";
import { sessionId } from "./fields.ts";

// Clients give a call a minute by default. A command that takes longer ends before, so that its output is not lost.
const TIMEOUT_MS = { default: 50 * SECOND, maximum: 600 * SECOND };
const PROGRESS_MS = 5 * SECOND;
const MAX_LINE_LENGTH = 1024 * 1024;
const READ_ALL = "To see all of it, write the output to a file and read that with read_file";

export const createExecTool = (inSandbox: InSandbox): Tool => ({
  name: "exec",
  title: "Run a command",
  description:
    "Runs a shell command in the sandbox and returns its exit code and output when it has ended. It starts in the workspace folder; each call is a new shell, so that cd and variables do not last. Long output is cut in the middle. For servers and commands that take longer than timeoutMs, use process_start.",
  input: Type.Object({
    sessionId,
    command: Type.String({ minLength: 1, description: "Run by `sh -c`." }),
    cwd: Type.Optional(Type.String({ maxLength: 4096, description: "The folder to run in, relative to the workspace folder." })),
    env: Type.Optional(Type.Record(Type.String(), Type.String(), { description: "More environment variables." })),
    stdin: Type.Optional(Type.String({ description: "The standard input. Default: empty." })),
    timeoutMs: Type.Optional(
      Type.Integer({ minimum: 1, ...TIMEOUT_MS, description: "The command and what it started are killed after this time." }),
    ),
  }),
  scope: "sessions",
  tokenScope: "exec",
  hints: { destroys: true },
  call: ({ sessionId: id, timeoutMs = TIMEOUT_MS.default, ...wanted }: InSession & ExecRequest, call) =>
    inSandbox(call, { sessionId: id }, async (sandbox) => {
      const { body } = await sandbox.open("POST", "/exec", { body: { ...wanted, timeoutMs } satisfies ExecRequest });
      const stdout = createBoundedText((MAX_CHARS * 2) / 3);
      const stderr = createBoundedText(MAX_CHARS / 3);
      const startedMs = performance.now();
      const seconds = () => Math.round((performance.now() - startedMs) / SECOND);
      const ticks = setInterval(() => call.progress(`running for ${seconds()} s`), PROGRESS_MS);
      try {
        for await (const line of splitLines(body, MAX_LINE_LENGTH)) {
          const event = JSON.parse(line) as ExecEvent;
          if (event.type === "exit") return toResult(event, joinBounded(stdout, READ_ALL), joinBounded(stderr, READ_ALL), timeoutMs);
          if (event.type === "error") throw new AppError(event.code ?? "bad_request", { message: String(event.message).slice(0, 1000) });
          (event.type === "stdout" ? stdout : stderr).add(String(event.data));
          await sandbox.admitBytes(line.length);
        }
      } finally {
        clearInterval(ticks);
        // Ends the command, if the call was cancelled.
        body.destroy();
      }
      throw new AppError("sandbox_unreachable", { message: "The sandbox was stopped while the command ran" });
    }),
});

type Exit = Extract<ExecEvent, { type: "exit" }>;

function toResult({ code, signal, timedOut }: Exit, stdout: string, stderr: string, timeoutMs: number) {
  const end =
    timedOut === true
      ? `killed after ${timeoutMs} ms; give it a larger timeoutMs, or start it with process_start`
      : code === null
        ? `ended by ${String(signal)}`
        : `exit code ${code}`;
  const text = [end, ...(stdout ? ["stdout:", stdout] : []), ...(stderr ? ["stderr:", stderr] : [])].join("\n");
  return textResult(text, { exitCode: code, signal, timedOut: timedOut === true, stdout, stderr });
}
