import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { AppError } from "@berth/contract/errors.ts";
import { badRequest } from "../http/errors.ts";
import { isStringRecord } from "../http/body.ts";
import { linesOf } from "../io/lines.ts";
import { childProcess } from "../programs/child-process.ts";

// The extended attributes of files, for which Node has no API. A Python process reads and writes them, one line of JSON each way. It
// starts with the first call and ends when it is not used for a while.
export interface Attributes {
  // The attributes of each path whose name begins with the prefix, without it. Empty where there are none, or no Python.
  read(paths: string[], prefix: string): Promise<Record<string, string>[]>;
  write(path: string, attributes: Record<string, string>): Promise<void>;
}

type Answer = { read: Record<string, string>[] } | { error: string };

const IDLE_MS = 30_000;
const MAX_BYTES = 4096;
const NAME = /^user\.[\x21-\x7e]{1,246}$/;
const SCRIPT = `
import json, os, sys
def read(path, prefix):
    try:
        names = [n for n in os.listxattr(path, follow_symlinks=False) if n.startswith(prefix)]
        return {n[len(prefix):]: os.getxattr(path, n, follow_symlinks=False).decode("utf-8", "replace") for n in names}
    except OSError:
        return {}
for line in sys.stdin:
    call = json.loads(line)
    try:
        for name, value in call.get("write", {}).items():
            os.setxattr(call["paths"][0], name, value.encode())
        answer = {"read": [read(path, call["prefix"]) for path in call["paths"]]} if "prefix" in call else {"read": []}
    except OSError as error:
        answer = {"error": error.strerror}
    print(json.dumps(answer), flush=True)
`;

export function createAttributes(): Attributes {
  let helper: Helper | null = null;

  async function ask(call: object): Promise<Answer> {
    helper ??= startHelper(() => (helper = null));
    return helper.ask(call);
  }

  return {
    async read(paths, prefix) {
      const answer = await ask({ paths, prefix });
      return "read" in answer && answer.read.length === paths.length ? answer.read : paths.map(() => ({}));
    },
    async write(path, write) {
      const answer = await ask({ paths: [path], write });
      if ("error" in answer) throw badRequest(`The attributes cannot be set: ${answer.error}`);
    },
  };
}

interface Helper {
  ask(call: object): Promise<Answer>;
}

function startHelper(onEnd: () => void): Helper {
  const program: ChildProcessWithoutNullStreams = childProcess().spawn("python3", ["-I", "-S", "-c", SCRIPT], { stdio: "pipe", cwd: "/" });
  const waiting: ((answer: Answer) => void)[] = [];
  const idle = setTimeout(() => program.stdin.end(), IDLE_MS).unref();
  const end = () => {
    clearTimeout(idle);
    onEnd();
    for (const answer of waiting.splice(0)) answer({ error: "it needs python3 in the sandbox" });
  };
  program.once("error", end);
  program.once("close", end);
  program.stdin.on("error", () => {});
  program.stderr.resume();
  void readAnswers();
  return {
    ask(call) {
      idle.refresh();
      return new Promise((resolve) => {
        waiting.push(resolve);
        program.stdin.write(`${JSON.stringify(call)}\n`);
      });
    },
  };

  // The program could be any, because the sandbox's user chooses what `python3` is.
  async function readAnswers(): Promise<void> {
    try {
      for await (const line of linesOf(program.stdout)) waiting.shift()?.(JSON.parse(line) as Answer);
    } catch {
      program.kill("SIGKILL");
    }
  }
}

// Those that a written file gets. null: none.
export function parseAttributes(text: string | null): Record<string, string> | null {
  if (text === null) return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = null;
  }
  if (!isStringRecord(value) || Object.keys(value).some((name) => !NAME.test(name)))
    throw badRequest("attributes must be a JSON object of strings whose names begin with user.");
  const bytes = Object.entries(value).reduce((sum, pair) => sum + Buffer.byteLength(pair.join("")), 0);
  if (bytes > MAX_BYTES) throw new AppError("too_large", { message: `The attributes of a file may have ${MAX_BYTES} bytes` });
  return value;
}
