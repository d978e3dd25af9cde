import { spawn, type StdioOptions } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { freePort } from "../support/servers/port.ts";

export const examples = join(import.meta.dirname, "../../examples");

// An example that serves pages, as a separate process.
export interface ExampleApp extends AsyncDisposable {
  url: string;
  // Its first line of output.
  greeting: string;
}

interface Server {
  url: string;
  key: string;
}

export interface ExampleOptions {
  // More variables, which may depend on the address of the app.
  settings?: (url: string) => Promise<Record<string, string>> | Record<string, string>;
}

// Starts a program of examples/, or one of our own that serves an example.
export async function startExample(
  { url: berthUrl, key }: Server,
  program: string,
  { settings }: ExampleOptions = {},
): Promise<ExampleApp> {
  const port = await freePort();
  const url = `http://localhost:${port}`;
  const env = { PATH: process.env.PATH ?? "", PORT: String(port), BERTH_URL: berthUrl, BERTH_API_KEY: key, ...(await settings?.(url)) };
  const stdio: StdioOptions = ["ignore", "pipe", "inherit"];
  const child = spawn(process.execPath, [join(examples, program)], { env, stdio });
  const exited = once(child, "exit");
  const [greeting] = (await Promise.race([
    once(createInterface(child.stdout!), "line"),
    exited.then(([code]) => Promise.reject(new Error(`${program} ended with ${String(code)}`))),
  ])) as [string];
  return {
    url,
    greeting,
    async [Symbol.asyncDispose]() {
      child.kill();
      await exited;
    },
  };
}
