import { expect, test } from "vitest";
import { parseLocalUrl } from "./local-url.ts";

test.each([
  ["http://localhost:3000", { port: 3000, path: "/" }],
  ["http://localhost:3000/a/b?c=d#e", { port: 3000, path: "/a/b?c=d#e" }],
  ["http://LOCALHOST:3000/", { port: 3000, path: "/" }],
  ["http://127.0.0.1:5173/", { port: 5173, path: "/" }],
  ["http://0.0.0.0:8000//twice", { port: 8000, path: "/twice" }],
  ["http://[::1]:4000/x", { port: 4000, path: "/x" }],
  ["http://[::]:4000/", { port: 4000, path: "/" }],
  ["https://localhost/", { port: 443, path: "/" }],
  ["http://localhost/", { port: 80, path: "/" }],
])("%s means a port of the sandbox", (uri, target) => expect(parseLocalUrl(uri)).toEqual(target));

test.each([
  "https://example.com:3000/",
  "http://localhost.example.com/",
  "http://3000-sbx-1.localhost:8080/",
  "ftp://localhost/",
  "localhost",
])("%s does not", (uri) => expect(parseLocalUrl(uri)).toBeNull());
