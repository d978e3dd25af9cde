import { execFile } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

// Runs in a child process, because the handler applies to the whole process.
const script = `
  import { createLog } from ${JSON.stringify(join(import.meta.dirname, "../log.ts"))};
  import { endAfter } from ${JSON.stringify(join(import.meta.dirname, "end-process.ts"))};
  import { untilUncaughtError } from ${JSON.stringify(join(import.meta.dirname, "uncaught-errors.ts"))};
  setInterval(() => { throw new Error("again") }, 1);
  const log = createLog("info");
  untilUncaughtError(log).then(() => {
    console.log("resolved");
    endAfter(500, log, () => ["a request"]);
  });
`;

test("after an uncaught error a server that does not stop exits with 1, and a repeated error is logged a bounded number of times", async () => {
  const { code, stdout, stderr } = await new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
    execFile(process.execPath, ["--input-type=module", "-e", script], (error, out, err) =>
      resolve({ code: error?.code, stdout: out, stderr: err }),
    );
  });
  const events = stderr.split("\n").flatMap((line) => (line === "" ? [] : [(JSON.parse(line) as { msg: string }).msg]));
  expect({ code, stdout }).toEqual({ code: 1, stdout: "resolved\n" });
  expect(events.filter((name) => name === "server.uncaught_error").length).toBeLessThanOrEqual(20);
  expect(events[0]).toBe("server.uncaught_error");
  expect(events.at(-1)).toBe("server.stop_timed_out");
  expect(stderr).toContain('"unfinished":["a request"]');
});
