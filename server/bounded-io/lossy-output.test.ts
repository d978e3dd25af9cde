import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { machine, testWith } from "../../tests/support/machine.ts";

const LINES = 20_000;

// Logs more than a pipe and the buffer hold, reports how many lines were dropped, and ends when it is asked to.
const script = `
  import { createLog } from ${JSON.stringify(join(import.meta.dirname, "../log.ts"))};
  import { openLossyOutput } from ${JSON.stringify(join(import.meta.dirname, "lossy-output.ts"))};
  const output = openLossyOutput(process.stderr);
  const log = createLog("info", output);
  for (let n = 0; n < ${LINES}; n++) log.info("line", { n, filler: "x".repeat(100) });
  console.error("printed");
  process.send(output.droppedLines);
  process.once("message", () => process.exit());
`;

const start = (stderr: "pipe" | number) => {
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: ["ignore", "ignore", stderr, "ipc"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
};

function expectLinesAndReport(text: string, dropped: number): void {
  const lines = text.split("\n").filter((line) => line.startsWith("{"));
  const events = lines.map((line) => JSON.parse(line) as { msg: string; lines?: number });
  const arrived = events.filter(({ msg }) => msg === "line").length;
  expect(dropped).toBeGreaterThan(LINES / 4);
  expect(events.slice(arrived)).toMatchObject([{ msg: "log.lines_dropped", lines: dropped }]);
  // A line that does not come from the log.
  const isPrinted = text.includes("printed\n");
  expect(arrived + Number(isPrinted) + dropped).toBe(LINES + 1);
}

test("a process with a socket that is not read goes on, drops lines, and says how many when the socket is read", async () => {
  const child = start("pipe");
  const [dropped] = (await once(child, "message")) as [number];
  let text = "";
  for await (const chunk of child.stderr!) {
    text += String(chunk);
    if (text.includes("log.lines_dropped") && child.connected) child.send("end");
  }
  expectLinesAndReport(text, dropped);
});

testWith(machine.linux, "so does a process with a pipe, also if it exits meanwhile", async () => {
  const folder = mkdtempSync(join(tmpdir(), "berth-pipe-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  execFileSync("mkfifo", [join(folder, "pipe")]);
  const pipe = openSync(join(folder, "pipe"), constants.O_RDWR | constants.O_NONBLOCK);
  onTestFinished(() => closeSync(pipe));
  const writer = openSync(join(folder, "pipe"), "w");
  const child = start(writer);
  closeSync(writer);
  const [dropped] = (await once(child, "message")) as [number];
  child.send("end");
  let text = "";
  const chunk = Buffer.alloc(65_536);
  const takeAll = () => {
    for (;;) {
      try {
        text += chunk.toString("utf8", 0, readSync(pipe, chunk));
      } catch {
        return;
      }
    }
  };
  const exited = once(child, "exit");
  const reading = setInterval(takeAll, 1);
  await exited;
  clearInterval(reading);
  takeAll();
  expectLinesAndReport(text, dropped);
});

testWith(machine.linux, "a process whose output is closed, or whose reader leaves, ends as usual", () => {
  const run = (end: string) =>
    execFileSync("bash", [
      "-c",
      `${end}; echo "$? \${PIPESTATUS[0]}"`,
      "bash",
      process.execPath,
      "--input-type=module",
      "-e",
      plain,
    ]).toString();
  const plain = script.replace(/process\.(send|once).*$/gm, "");
  expect(run('"$@" 2>&-')).toBe("0 0\n");
  expect(run('"$@" 2>&1 | true')).toBe("0 0\n");
  expect(run('"$@" 2>/dev/full')).toBe("0 0\n");
});
