import * as fc from "fast-check";
import { expect, test } from "vitest";
import { openGateway } from "./testing/test-gateway.ts";

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"];
const HEADERS = [
  "accept",
  "content-type",
  "cookie",
  "expect",
  "if-match",
  "origin",
  "range",
  "sec-fetch-dest",
  "sec-fetch-site",
  "sec-purpose",
  "te",
  "x-api-key",
  "x-berth-token",
];

test("the gateway replies to every request, completely and without an internal error", async () => {
  await using gateway = await openGateway();
  await gateway.serveDaemon((request, response) => void request.resume().on("end", () => response.end("ok")));
  const cookie = await gateway.signIn();
  const own = `/workspace/${gateway.sandboxId}`;
  const previewHost = `3000-${gateway.sandboxId.replace("_", "-")}.localhost:${gateway.port}`;
  const start = fc.constantFrom(
    "/workspace",
    "/workspace/",
    "/workspace/assets/",
    own,
    `${own}/`,
    `${own}/api/`,
    `${own}/session`,
    `${own}/preview`,
    "/sandboxes",
    `/sandboxes/${gateway.sandboxId}/`,
    "/.berth/open",
  );
  const tail = fc.array(
    fc.constantFrom("/", "..", "%2e", "%zz", "?", "&", "=", "s=x", "#", "\\", "files", "a".repeat(500), "%00", "é", "[", "{", "@", ":"),
    { maxLength: 6 },
  );
  const value = fc.stringMatching(/^[\x20-\x7e]{0,40}$/);
  const requests = fc.record({
    path: fc.tuple(start, tail).map(([begin, end]) => begin + end.join("")),
    method: fc.constantFrom(...METHODS),
    headers: fc.dictionary(
      fc.constantFrom(...HEADERS),
      fc.oneof(value, fc.constantFrom("good", cookie, gateway.origin, "same-origin", "*/*", "text/html", "bytes=0-1")),
      { maxKeys: 6 },
    ),
    preview: fc.boolean(),
    body: fc.option(value, { nil: undefined }),
  });
  await fc.assert(
    fc.asyncProperty(requests, async ({ path, method, headers, preview, body }) => {
      const { expect: _unknownToNode, ...rest } = headers;
      const target = { method, headers: { ...rest, ...(preview && { host: previewHost }) }, ...(body !== undefined && { body }) };
      const answer = await gateway.send(encodeURI(path).replaceAll("%25", "%"), target);
      // 503 is the reply to prefetches.
      expect(answer.status === 503 ? 200 : answer.status).toBeLessThan(500);
      expect(answer.complete).toBe(true);
    }),
    { numRuns: 400 },
  );
});
