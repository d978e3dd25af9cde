import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Fastify from "fastify";
import { afterAll, expect, test } from "vitest";
import { addClientRoutes } from "./client-routes.ts";

const root = mkdtempSync(join(tmpdir(), "berth-clients-"));
const folders = ["typescript", "python"].map((name) => join(root, name));
const app = Fastify();
addClientRoutes(app, folders);
afterAll(async () => {
  await app.close();
  rmSync(root, { recursive: true });
});

test("a server whose clients were not built says so", async () => {
  for (const file of ["berth.whl", "berth-client.tgz"])
    expect((await app.inject(`/clients/${file}`)).json()).toMatchObject({ message: expect.stringContaining("run `npm run setup`") });
});

test("each client is handed out under its name, and nothing else is", async () => {
  const wheel = "berth-1.2.3-py3-none-any.whl";
  for (const [at, file] of ["berth-client.tgz", wheel].entries()) {
    mkdirSync(folders[at]!);
    writeFileSync(join(folders[at]!, file), file);
  }
  writeFileSync(join(root, "secret"), "");
  expect((await app.inject("/clients/berth.whl")).headers.location).toBe(`/clients/${wheel}`);
  const { statusCode, headers, body } = await app.inject(`/clients/${wheel}`);
  expect([statusCode, headers["content-type"], body]).toEqual([200, "application/zip", wheel]);
  expect((await app.inject({ url: `/clients/${wheel}`, headers: { "if-none-match": headers.etag as string } })).statusCode).toBe(304);
  for (const path of ["..%2Fsecret", "berth-1.2.2-py3-none-any.whl", "__proto__"])
    expect((await app.inject(`/clients/${path}`)).json()).toMatchObject({ message: "Not found" });
});
