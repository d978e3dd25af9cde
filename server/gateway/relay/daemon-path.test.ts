import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toDaemonPath } from "./daemon-path.ts";

describe("a path for the daemon", () => {
  it("passes as it is when it is plain", () => {
    expect(toDaemonPath("/files/content", "path=a%2F..%2Fb")).toBe("/files/content?path=a%2F..%2Fb");
    expect(toDaemonPath("/terminals/term_1-a.b~c", "")).toBe("/terminals/term_1-a.b~c");
    expect(toDaemonPath("/ports", "")).toBe("/ports");
  });

  it("never leads to what is the server's or the preview's, however it is written", () => {
    const piece = fc.constantFrom(
      "/",
      "//",
      "internal",
      "INTERNAL",
      "start",
      "ports",
      "3000",
      ".",
      "..",
      "%2e",
      "%2F",
      "%69nternal",
      "\\",
      ";",
      "files",
      "\t",
      "?",
      "#",
      "%00",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const path = toDaemonPath(`/${pieces.join("")}`, "");
        if (path === null) return;
        // As a reader would that decodes, cleans up and ignores case.
        const { pathname } = new URL(decodeURIComponent(path).replaceAll("\\", "/").toLowerCase(), "http://sandbox");
        expect(pathname).not.toMatch(/^\/+(internal(\/|$)|ports\/)/);
      }),
      { numRuns: 5000 },
    );
  });
});
