import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { ROUTES, SANDBOX_ROUTES, type Route } from "@berth/contract";
import { describeApi, type OpenApi } from "@berth/contract/openapi/openapi.ts";
import { startTestApp, TEST_BASE_URL, type TestApp } from "../testing/test-app.ts";

const root = join(import.meta.dirname, "../../..");
const run = (program: string, args: string[], cwd: string) =>
  promisify(execFile)(process.execPath, [join(root, "node_modules", program), ...args], {
    cwd,
    encoding: "utf8",
    env: { ...process.env, CI: "1" },
  });

let app: TestApp;
let folder: string;
let yaml: string;
let description: OpenApi;
beforeAll(async () => {
  app = await startTestApp();
  folder = await mkdtemp(join(tmpdir(), "berth-openapi-"));
  yaml = (await app.call("GET", "/api/b2b/docs", { key: null })).text;
  description = parse(yaml) as OpenApi;
  await writeFile(join(folder, "openapi.yaml"), yaml);
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

describe("the OpenAPI description", () => {
  test("is public YAML that lists every route, both ways to send the key, and the version", async () => {
    const { status, headers, text } = await app.call("GET", "/api/b2b/docs", { key: null });
    expect([status, headers.get("content-type"), text]).toEqual([200, "application/yaml", yaml]);
    expect(description.info).toMatchObject({ title: "Partner Session API", version: "1.0.0" });
    expect(description.components.securitySchemes).toMatchObject({ bearer: { scheme: "bearer" }, apiKey: { name: "X-API-Key" } });
    const described = Object.entries(description.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(described.sort()).toEqual(
      Object.values<Route>({ ...ROUTES, ...SANDBOX_ROUTES })
        .map((route) => `${route.method} ${route.path}`)
        .sort(),
    );
  });

  test("passes redocly lint without warnings, for a localhost base URL too", async () => {
    await writeFile(join(folder, "local.json"), JSON.stringify(describeApi({ baseUrl: "http://localhost:8080", templates: ["default"] })));
    const { stdout, stderr } = await run("@redocly/cli/bin/cli.js", ["lint", "openapi.yaml", "local.json"], folder);
    expect(stdout + stderr).not.toMatch(/warning|error/i);
  });

  test("passes spectral lint without warnings", async () => {
    await writeFile(join(folder, ".spectral.yaml"), 'extends: ["spectral:oas"]\n');
    const { stdout } = await run("@stoplight/spectral-cli/dist/index.js", ["lint", "openapi.yaml", "--fail-severity", "hint"], folder);
    expect(stdout).toMatch(/No results/);
  });

  test("is backward compatible with version 1.0.0, apart from the templates of a server", async () => {
    const first = join(root, "contract/openapi/openapi-1.0.0.yaml");
    await writeFile(join(folder, "any-server.json"), JSON.stringify(describeApi({ baseUrl: TEST_BASE_URL })));
    const { stdout, stderr } = await run("@redocly/cli/bin/cli.js", ["diff", first, "any-server.json"], folder);
    expect(stdout + stderr).toMatch(/(^|\s)0 major/);
  });

  test("names the configured templates", async () => {
    expect(description.components.schemas.CreateSession).toMatchObject({
      properties: { template: { enum: ["default", "python"], default: "default" } },
    });
  });

  test("has an example for DELETE that says destroyed", async () => {
    const { paths } = description;
    expect(JSON.stringify(paths["/api/b2b/sessions/{id}"]!.delete!.responses["200"])).toContain('"value":{"status":"destroyed"}');
    expect(JSON.stringify(paths["/api/b2b/sessions/{id}/pause"]!.post!.responses["200"])).toContain('"value":{"status":"paused"}');
  });

  test("has a 400 for each operation that checks a body, a query or an Idempotency-Key", async () => {
    const { paths } = description;
    const described = Object.values<Route>(ROUTES)
      .filter((route) => route.body || route.idempotent || route.query?.some((parameter) => parameter.in === "query"))
      .map(({ method, path }) => [`${method} ${path}`, Object.keys(paths[path]![method.toLowerCase()]!.responses).includes("400")]);
    expect(described).toHaveLength(27);
    expect(described.filter(([, has]) => !has)).toEqual([]);
    const { status } = await app.call("POST", "/api/b2b/sessions/ses_x/pause", { headers: { "idempotency-key": "x".repeat(256) } });
    expect(status).toBe(400);
  });
});

describe("the API reference", () => {
  test("loads no external resources, and runs no script but its own", async () => {
    const { status, headers, text } = await app.call("GET", "/docs/api", { key: null });
    expect([status, headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect(headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(headers.get("content-security-policy")).toContain("script-src 'self'; connect-src 'self';");
    expect(text).not.toMatch(/style="|<script(?![^>]* src="\/docs\/assets\/[\w-]+\.js">)/);
    const links = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link]) => link!);
    expect(links.filter((link) => !/^(#|\/docs\b)/.test(link))).toEqual(["/api/b2b/docs"]);
    for (const link of links.filter((one) => one.startsWith("#"))) expect(text).toContain(`id="${link.slice(1)}"`);
  });
});
