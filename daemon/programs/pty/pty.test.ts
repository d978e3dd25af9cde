import { constants } from "node:os";
import { expect, test } from "vitest";
import { openPty } from "./pty.ts";

test("a signal reaches a program that was started just now", async () => {
  for (let round = 0; round < 20; round++) {
    const exited = Promise.withResolvers<number | null>();
    const pty = openPty({
      command: ["/bin/sleep", "20"],
      cwd: "/",
      cols: 80,
      rows: 24,
      env: {},
      onOutput: () => {},
      onExit: (_code, signal) => exited.resolve(signal),
    });
    pty.kill("SIGTERM");
    expect(await exited.promise).toBe(constants.signals.SIGTERM);
  }
});
