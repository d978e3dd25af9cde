import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toDaemonPath } from "./daemon-path.ts";

describe("a path for the daemon", () => {
  test("is unchanged if it is plain", () => {
    expect(toDaemonPath("/files/content", "path=a%2F..%2Fb")).toBe("/files/content?path=a%2F..%2Fb");
    expect(toDaemonPath("/terminals/term_1-a.b~c", "")).toBe("/terminals/term_1-a.b~c");
    expect(toDaemonPath("/ports", "")).toBe("/ports");
  });

  test("never reaches /internal or a port, however it is spelled", () => {
    const fragment = fc.constantFrom(
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
      fc.property(fc.array(fragment, { maxLength: 8 }), (fragments) => {
        const path = toDaemonPath(`/${fragments.join("")}`, "");
        if (path === null) return;
        // Parse like a daemon that decodes, normalizes and ignores case.
        const { pathname } = new URL(decodeURIComponent(path).replaceAll("\\", "/").toLowerCase(), "http://sandbox");
        expect(pathname).not.toMatch(/^\/+(internal(\/|$)|ports\/)/);
      }),
      { numRuns: 5000 },
    );
  });
});
