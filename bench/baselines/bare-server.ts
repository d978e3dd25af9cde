// A bare node:http server with the same authentication as Berth, which answers with the same bodies: the least that an API in Node
// costs. As a program it serves the responses in the file that its argument names, and prints its port.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Run } from "../support/benchmark.ts";
import { startPart } from "./start-part.ts";

export interface BareResponses {
  key: string;
  // The keys are a method and a path.
  answers: Record<string, { status: number; body: unknown }>;
}

export interface BareServer {
  port: number;
  pid: number;
}

export async function startBareServer(run: Run, answers: BareResponses): Promise<BareServer> {
  const folder = await mkdtemp(join(tmpdir(), "berth-bench-"));
  const file = join(folder, "answers.json");
  await writeFile(file, JSON.stringify(answers));
  const { pid, printed } = await startPart(run, import.meta.filename, [file]);
  run.resources.defer(() => rm(folder, { recursive: true, force: true }));
  return { port: Number(printed), pid };
}

if (import.meta.main) serve(JSON.parse(readFileSync(process.argv[2]!, "utf8")) as BareResponses);

function serve({ key, answers }: BareResponses): void {
  const partners = new Map([[hash(key), "demo"]]);
  const server = createServer((request, response) => {
    const given = request.headers.authorization?.slice("Bearer ".length) ?? "";
    if (!partners.has(hash(given))) return reply(response, 401, { error: "Unauthorized" });
    const { status, body } = answers[`${request.method} ${request.url}`]!;
    if (request.headers["content-type"] === undefined) return reply(response, status, body);
    readJson(request, () => reply(response, status, body));
  }).listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
}

function readJson(request: IncomingMessage, done: (body: unknown) => void): void {
  let text = "";
  request.on("data", (chunk: Buffer) => (text += chunk.toString()));
  request.once("end", () => done(JSON.parse(text)));
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  response.writeHead(status, { "content-type": "application/json; charset=utf-8", "content-length": Buffer.byteLength(text) }).end(text);
}

function hash(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}
