// Fastify with one route: it authenticates as Berth does, reads the row of a session from SQLite and sends the same body. It has no
// hooks, limits, metrics or log. As a program it reads the file that its argument names, and prints its port.
import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fastify } from "fastify";
import { ROUTES, type Session } from "@berth/contract";
import type { Run } from "../support/benchmark.ts";
import type { BareServer } from "./bare-server.ts";
import { startPart } from "./start-part.ts";

export interface FastifyPart {
  key: string;
  // An SQLite database of Berth.
  database: string;
  // The URL of a sandbox without its id.
  sandboxUrl: string;
}

export async function startFastifyServer(run: Run, part: FastifyPart): Promise<BareServer> {
  const folder = await mkdtemp(join(tmpdir(), "berth-bench-"));
  const file = join(folder, "part.json");
  await writeFile(file, JSON.stringify(part));
  const { pid, printed } = await startPart(run, import.meta.filename, [file]);
  run.resources.defer(() => rm(folder, { recursive: true, force: true }));
  return { port: Number(printed), pid };
}

if (import.meta.main) await serve(JSON.parse(readFileSync(process.argv[2]!, "utf8")) as FastifyPart);

async function serve({ key, database, sandboxUrl }: FastifyPart): Promise<void> {
  const partners = new Map([[hash("sha256", key), "demo"]]);
  const row = new DatabaseSync(database, { readOnly: true }).prepare("select * from sessions where id = ?");
  const app = fastify();
  app.get("/api/b2b/sessions/:id", { schema: { response: { 200: ROUTES.getSession.success.schema } } }, async (request) => {
    const given = request.headers.authorization?.slice("Bearer ".length) ?? "";
    if (!partners.has(hash("sha256", given))) throw new Error("this key is unknown");
    return toSession(row.get((request.params as { id: string }).id)!, sandboxUrl);
  });
  await app.listen({ port: 0, host: "127.0.0.1" });
  console.log((app.server.address() as AddressInfo).port);
}

function toSession(row: Record<string, unknown>, sandboxUrl: string): Session {
  return {
    sessionId: row.id as Session["sessionId"],
    sandboxId: row.sandbox_id as Session["sandboxId"],
    status: row.state as Session["status"],
    sandboxUrl: `${sandboxUrl}${row.sandbox_id as string}`,
    createdAt: new Date(row.created_at as number).toISOString(),
  };
}
