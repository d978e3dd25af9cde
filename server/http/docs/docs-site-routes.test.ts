import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Fastify from "fastify";
import { afterAll, expect, test } from "vitest";
import { createBuiltFiles, storeFile } from "../../built-files.ts";
import { addDocsSite } from "./docs-site-routes.ts";

const root = mkdtempSync(join(tmpdir(), "berth-docs-"));
const folder = join(root, "dist");
const app = Fastify();
addDocsSite(app, createBuiltFiles(folder), () => storeFile("text/html; charset=utf-8", Buffer.from("the reference")));
afterAll(async () => {
  await app.close();
  rmSync(root, { recursive: true });
});

test("a server whose documentation was not built says so", async () => {
  for (const path of ["/docs", "/docs/api-keys"])
    expect((await app.inject(path)).json()).toMatchObject({ message: expect.stringContaining("run `npm run setup`") });
});

test("pages are revalidated, assets are kept, and nothing outside of the folder is served", async () => {
  mkdirSync(join(folder, "assets"), { recursive: true });
  mkdirSync(join(folder, "decisions"));
  for (const file of [
    "index.html",
    "errors.html",
    "not-found.html",
    "decisions/0001.html",
    "assets/main-1.js",
    ".sources",
    "../secret.html",
  ])
    writeFileSync(join(folder, file), file);
  const page = await app.inject("/docs/errors");
  expect([page.statusCode, page.body, page.headers["content-type"], page.headers["cache-control"]]).toEqual([
    200,
    "errors.html",
    "text/html; charset=utf-8",
    "no-cache",
  ]);
  expect(page.headers["content-security-policy"]).toMatch(/default-src 'none'.*script-src 'self';.*frame-ancestors 'none'/);
  expect((await app.inject({ url: "/docs/errors", headers: { "if-none-match": page.headers.etag as string } })).statusCode).toBe(304);
  expect((await app.inject("/docs/assets/main-1.js")).headers["cache-control"]).toContain("immutable");
  const bodies = ["/docs", "/docs/decisions/0001", "/docs/api"].map(async (path) => (await app.inject(path)).body);
  expect(await Promise.all(bodies)).toEqual(["index.html", "decisions/0001.html", "the reference"]);
  const unknown = ["nothing", "..%2fsecret", "%2e%2e/secret", ".sources", "assets/..%2f..%2fsecret.html", "__proto__", "assets/main-2.js"];
  const replies = await Promise.all(unknown.map((path) => app.inject(`/docs/${path}`)));
  expect(replies.map(({ statusCode }) => statusCode)).toEqual(unknown.map(() => 404));
  expect((await app.inject("/docs/nothing")).body).toBe("not-found.html");
});
