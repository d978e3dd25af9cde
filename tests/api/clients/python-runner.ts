import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import type { Connection, Outcome, Runner } from "./journey.ts";

// Debian's own, for which set-up installs httpx.
export const PYTHON = "/usr/bin/python3";

export const runFile = promisify(execFile);

// Installs the package that the server hands out.
export async function installPython(serverUrl: string, folder: string): Promise<void> {
  // pip takes the version from the name of the file, so it cannot install /clients/berth.whl itself.
  const { url } = await fetch(`${serverUrl}/clients/berth.whl`, { method: "HEAD" });
  const flags = ["--no-index", "--no-deps", "--target", folder];
  await runFile(PYTHON, ["-m", "pip", "--isolated", "--disable-pip-version-check", "install", ...flags, url]);
}

// Python imports from a wheel without unpacking it, which is cheaper than to install it.
export async function download(url: string, path: string): Promise<void> {
  writeFileSync(path, new Uint8Array(await (await fetch(url)).arrayBuffer()));
}

// Makes the calls of journeys with the Python client that is installed in `folder`.
export function startPythonRunner(kind: "sync" | "async", folder: string, connection: Connection): Runner {
  const program = join(import.meta.dirname, "runner.py");
  const child = spawn(PYTHON, [program, kind, JSON.stringify(connection)], { env: { PATH: process.env.PATH, PYTHONPATH: folder } });
  // A program that has ended says why on its standard error.
  child.stdin.on("error", () => {});
  const failure = text(child.stderr);
  const exited = once(child, "close");
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    async run(calls) {
      child.stdin.write(`${JSON.stringify(calls)}\n`);
      const { done, value } = await lines.next();
      if (done) throw new Error(`The Python client ended: ${await failure}`);
      return JSON.parse(value as string) as Outcome[];
    },
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await exited;
    },
  };
}
