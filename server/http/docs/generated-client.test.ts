import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { startTestApp } from "../testing/test-app.ts";

const root = join(import.meta.dirname, "../../..");

// Acts as a partner that has only the description: generates types, writes a program, compiles it and runs it.
const PROGRAM = `
import createClient from "openapi-fetch";
import type { paths } from "./api.ts";

const client = createClient<paths>({ baseUrl: process.env.BASE!, headers: { "X-API-Key": process.env.KEY! } });

const created = await client.POST("/api/b2b/sessions", { body: { externalUserId: "user-1", metadata: { plan: "pro" } } });
if (!created.data) throw new Error(created.error.error);
const path = { id: created.data.sessionId };
const status: "running" | "paused" | "destroyed" = created.data.status;
const paused = await client.POST("/api/b2b/sessions/{id}/pause", { params: { path } });
const again = await client.POST("/api/b2b/sessions/{id}/pause", { params: { path } });
const resumed = await client.POST("/api/b2b/sessions/{id}/resume", { params: { path }, body: { autoStartAgent: false } });
const launch = await client.POST("/api/b2b/sessions/{id}/launch-url", { params: { path } });
const read = await client.GET("/api/b2b/sessions/{id}", { params: { path, query: { expand: "details" } } });
const listed = await client.GET("/api/b2b/sessions", { params: { query: { status: "running", limit: 5, metadata: { plan: "pro" } } } });
const destroyed = await client.DELETE("/api/b2b/sessions/{id}", { params: { path } });
const others = await client.GET("/api/b2b/sessions", { params: { query: { metadata: { plan: "free" } } } });
// @ts-expect-error A status that does not exist.
const wrong = read.data?.status === "sleeping";
// @ts-expect-error The user is required.
const refused = await client.POST("/api/b2b/sessions", { body: {} });

console.log(JSON.stringify([
  status, paused.data?.status, again.error?.error, resumed.data?.sandboxUrl === created.data.sandboxUrl, typeof launch.data?.expiresAt,
  read.data?.metadata?.plan, listed.data?.data.length, others.data?.data.length, destroyed.data?.status, wrong, refused.error?.details,
]));
`;

test("a client generated from the description compiles and works", async () => {
  await using app = await startTestApp();
  const folder = await mkdtemp(join(tmpdir(), "berth-client-"));
  try {
    const run = (script: string, ...args: string[]) =>
      promisify(execFile)(process.execPath, [join(root, "node_modules", script), ...args], {
        cwd: folder,
        env: { ...process.env, BASE: app.base, KEY: app.key },
      });
    await mkdir(join(folder, "node_modules"));
    for (const name of ["openapi-fetch", "openapi-typescript-helpers", "@types"])
      await symlink(join(root, "node_modules", name), join(folder, "node_modules", name));
    await writeFile(join(folder, "openapi.yaml"), (await app.call("GET", "/api/b2b/docs")).text);
    await writeFile(join(folder, "package.json"), '{"type":"module"}');
    await writeFile(join(folder, "program.ts"), PROGRAM);
    await writeFile(
      join(folder, "tsconfig.json"),
      '{"compilerOptions":{"strict":true,"module":"nodenext","target":"es2024","types":["node"],"noEmit":true,"allowImportingTsExtensions":true,"skipLibCheck":true},"files":["program.ts"]}',
    );
    // By default the generator makes fields with a default value required.
    await run("openapi-typescript/bin/cli.js", "openapi.yaml", "-o", "api.ts", "--default-non-nullable=false");
    await run("typescript-native/bin/tsc", "-p", "tsconfig.json");
    const { stdout } = await promisify(execFile)(process.execPath, ["program.ts"], {
      cwd: folder,
      env: { ...process.env, BASE: app.base, KEY: app.key },
    });
    expect(JSON.parse(stdout)).toEqual([
      "running",
      "paused",
      "Session is already paused",
      true,
      "number",
      "pro",
      1,
      0,
      "destroyed",
      false,
      [{ field: "externalUserId", message: "Required" }],
    ]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
