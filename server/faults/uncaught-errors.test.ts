import { execFile } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

// A process of its own, because the handler is one of the whole process.
const script = `
  import { createLog } from ${JSON.stringify(join(import.meta.dirname, "../log.ts"))};
  import { untilUncaughtError } from ${JSON.stringify(join(import.meta.dirname, "uncaught-errors.ts"))};
  setInterval(() => { throw new Error("again") }, 1);
  untilUncaughtError(createLog("info"), { drainMs: 500 }).then(() => console.log("told once"));
`;

test("a server that does not stop after an uncaught error exits with 1, and a fault that repeats is not logged for ever", async () => {
  const { code, stdout, stderr } = await new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
    execFile(process.execPath, ["--input-type=module", "-e", script], (error, out, err) =>
      resolve({ code: error?.code, stdout: out, stderr: err }),
    );
  });
  const events = stderr.split("\n").flatMap((line) => (line === "" ? [] : [(JSON.parse(line) as { msg: string }).msg]));
  expect({ code, stdout }).toEqual({ code: 1, stdout: "told once\n" });
  expect(events.filter((name) => name === "server.uncaught_error").length).toBeLessThanOrEqual(20);
  expect(events[0]).toBe("server.uncaught_error");
  expect(events.at(-1)).toBe("server.drain_timed_out");
});
