import fc from "fast-check";
import { expect, test } from "vitest";
import { startTestDaemon } from "../testing/test-daemon.ts";
import { parseTarget, pathMatcher } from "./route.ts";

test("a route matches segment by segment, with parameters and a wildcard at the end", () => {
  const match = (route: string, target: string) => pathMatcher(route)(parseTarget(target).segments);
  expect(match("/files", "/files?path=a")).toEqual({});
  expect(match("/terminals/:id", "/terminals/a%2Fb")).toEqual({ id: "a/b" });
  expect(match("/terminals/:id", "/terminals")).toBeNull();
  expect(match("/terminals/:id", "/terminals/a/b")).toBeNull();
  expect(match("/ports/:port/*", "/ports/80")).toEqual({ port: "80" });
  expect(match("/ports/:port/*", "/ports/80/a/../b")).toEqual({ port: "80" });
  expect(match("/files", "//files")).toBeNull();
});

test("every request, however malformed, gets a JSON reply below 500, unless it names a port on which nothing listens", async () => {
  await using daemon = await startTestDaemon();
  const segment = fc.oneof(
    fc.constantFrom(
      "files",
      "content",
      "terminals",
      "exec",
      "ports",
      "search",
      "agent",
      "prompt",
      "conversations",
      "changes",
      "original",
      "internal",
      "start",
      "%",
      "%zz",
      "..",
    ),
    fc.webFragments(),
  );
  const target = fc
    .tuple(fc.array(segment, { maxLength: 4 }), fc.webQueryParameters())
    .map(([parts, query]) => `/${parts.join("/")}?${query}`);
  const body = fc.oneof(fc.json(), fc.string(), fc.constant(""));
  await fc.assert(
    fc.asyncProperty(fc.constantFrom("GET", "POST", "PUT", "DELETE", "PATCH"), target, body, async (method, path, text) => {
      const response = await daemon.fetch(path, { method, body: text });
      if (response.json?.code !== "port_closed") expect(response.status).toBeLessThan(500);
      if (response.status >= 400) expect(response.json).toMatchObject({ error: expect.any(String), code: expect.any(String) });
    }),
    { numRuns: 300, examples: [["GET", "/ports/1?", "[]"]] },
  );
  expect((await daemon.fetch("/health")).json).toMatchObject({ status: "ok" });
  expect((await daemon.fetch("/files", { method: "PATCH" })).headers.allow).toBe("GET, DELETE");
});
