import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ExecEvent } from "@berth/contract/daemon.ts";
import { startTestDaemon, type TestDaemon } from "../testing/test-daemon.ts";

let daemon: TestDaemon;
beforeAll(async () => void (daemon = await startTestDaemon({ FRUIT: "of the image", TREE: "of the image" })));
afterAll(() => daemon[Symbol.asyncDispose]());

const lines = (text: string): ExecEvent[] =>
  text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as ExecEvent);
const exec = async (body: object) => lines((await daemon.fetch("/exec", { method: "POST", body })).text);
const outputOf = (events: ExecEvent[], type = "stdout") =>
  events.map((event) => (event.type === type && "data" in event ? event.data : "")).join("");

test("an unknown format is refused before the command runs", async () => {
  const response = await daemon.fetch<{ code: string }>("/exec?format=json", { method: "POST", body: { command: "touch ran" } });
  expect([response.status, response.json.code]).toEqual([400, "bad_request"]);
  expect(existsSync(join(daemon.workspace, "ran"))).toBe(false);
  expect((await daemon.fetch("/exec?format=ndjson", { method: "POST", body: { command: "true" } })).status).toBe(200);
});

describe("exec", () => {
  test("streams stdout and stderr and ends with the exit code", async () => {
    const events = await exec({ command: "echo out; echo err >&2; exit 3" });
    expect(outputOf(events)).toBe("out\n");
    expect(outputOf(events, "stderr")).toBe("err\n");
    expect(events.at(-1)).toEqual({ type: "exit", code: 3, signal: null });
  });

  test("runs an array without a shell, in the workspace, with stdin", async () => {
    expect(outputOf(await exec({ command: ["pwd"] }))).toBe(`${daemon.workspace}\n`);
    expect(outputOf(await exec({ command: ["cat"], stdin: "grüße" }))).toBe("grüße");
    expect(outputOf(await exec({ command: ["printf", "%s", "$HOME; ls"] }))).toBe("$HOME; ls");
  });

  test("passes the variables of the session and of the image to the command, without the daemon's, and the session's take precedence", async () => {
    await daemon.fetch("/internal/start", { method: "POST", body: { env: { FRUIT: "fig" }, agent: null, autoStartAgent: false } });
    const env = outputOf(await exec({ command: "env", env: { MORE: "yes" } }));
    expect(env).toContain("FRUIT=fig\n");
    expect(env).toContain("MORE=yes\n");
    expect(env).toContain("TREE=of the image\n");
    expect(env).not.toContain("BERTH_");
  });

  test("sends plain text with the exit code as a trailer", async () => {
    const response = await daemon.fetch("/exec?format=text", { method: "POST", body: { command: "echo one; echo two >&2; exit 7" } });
    expect(response.text).toBe("one\ntwo\n");
    expect(response.trailers["x-exit-code"]).toBe("7");
  });

  test("reports a command that cannot be started", async () => {
    // The machine's own PATH may contain a folder that this user cannot read, and the system would report that instead.
    const env = { PATH: "/usr/bin:/bin" };
    const events = await exec({ command: ["no-such-program"], env });
    expect(events).toEqual([{ type: "error", message: "Command not found: no-such-program" }]);
  });

  test("kills the whole process group at the timeout", async () => {
    const events = await exec({ command: "sleep 600 & sleep 600", timeoutMs: 100 });
    expect(events.at(-1)).toEqual({ type: "exit", code: null, signal: "SIGKILL", timedOut: true });
  });

  test("kills the command when the caller disconnects", async () => {
    const response = await daemon.open("/exec", { method: "POST", body: { command: "echo $$; sleep 600; true" } });
    const [chunk] = (await response.iterator({ destroyOnReturn: false }).next()).value.toString().split("\n");
    const pid = outputOf(lines(chunk)).trim();
    expect(existsSync(join("/proc", pid))).toBe(true);
    response.destroy();
    await expect.poll(() => existsSync(join("/proc", pid))).toBe(false);
  });

  test("lets a command go on after a pause, refuses others until the resume, and kills those that came later", async () => {
    const begin = async (command: string) => {
      const response = await daemon.open("/exec?format=text", { method: "POST", body: { command } });
      const [pid = ""] = String((await response.iterator({ destroyOnReturn: false }).next()).value).split("\n");
      return { response, pid };
    };
    const before = await begin("echo $$; sleep 600; true");
    await daemon.fetch("/internal/pause", { method: "POST" });
    const refused = await daemon.fetch("/exec", { method: "POST", body: { command: "touch while-pausing" } });
    expect([refused.status, refused.json.code, existsSync(join(daemon.workspace, "while-pausing"))]).toEqual([
      409,
      "session_paused",
      false,
    ]);
    before.response.destroy();
    await daemon.fetch("/internal/start", { method: "POST", body: { env: {}, agent: null, autoStartAgent: false } });
    const after = await begin("echo $$; sleep 600; true");
    after.response.destroy();
    await expect.poll(() => existsSync(join("/proc", after.pid))).toBe(false);
    expect(existsSync(join("/proc", before.pid))).toBe(true);
    process.kill(-Number(before.pid), "SIGKILL");
  });

  test("never splits a character between chunks", async () => {
    const events = await exec({ command: "printf '\\303'; sleep 0.05; printf '\\274'" });
    expect(outputOf(events)).toBe("ü");
  });

  test("does not wait for processes that the command leaves in the background", async () => {
    const events = await exec({ command: "sleep 600 & echo $!" });
    expect(events.at(-1)).toEqual({ type: "exit", code: 0, signal: null });
    const pid = Number(outputOf(events));
    process.kill(pid, "SIGKILL");
  });

  test("applies back-pressure to the command while the reader is slow", async () => {
    const command = "echo $$; exec head -c 50000000 /dev/zero";
    const response = await daemon.open("/exec?format=text", { method: "POST", body: { command } });
    // Pause inside the event handler, or the next chunk would be lost.
    const first = await new Promise<Buffer>((resolve) => {
      response.once("data", (chunk: Buffer) => {
        response.pause();
        resolve(chunk);
      });
    });
    const pid = first.toString("latin1").split("\n")[0] ?? "";
    // The bytes that the command has written: they grow until back-pressure stops it.
    const written = () => Number(/^wchar: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, "utf8"))?.[1]);
    let before = -1;
    await expect.poll(() => before === (before = written()), { interval: 100 }).toBe(true);
    expect(written()).toBeLessThan(40_000_000);
    let size = first.length;
    for await (const chunk of response as AsyncIterable<Buffer>) size += chunk.length;
    expect(size).toBe(50_000_000 + pid.length + 1);
  });

  test.each([
    [{}, "command"],
    [{ command: "" }, "command"],
    [{ command: [1] }, "command"],
    [{ command: "a\0b" }, "command"],
    [{ command: "true", timeoutMs: -1 }, "timeoutMs"],
    [{ command: "true", env: { A: 1 } }, "env"],
  ])("refuses %j and names %s", async (body, field) => {
    const response = await daemon.fetch("/exec", { method: "POST", body });
    expect(response.status).toBe(400);
    expect(response.json.error).toContain(field);
  });

  test("refuses every request without the token", async () => {
    for (const token of [null, "", "wrong"]) {
      expect((await daemon.fetch("/health", { token })).status).toBe(401);
      expect((await daemon.fetch("/exec", { method: "POST", body: { command: "true" }, token })).status).toBe(401);
    }
  });
});
