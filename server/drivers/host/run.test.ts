import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { hold, mustRun, run } from "./run.ts";

const countChildren = () => process.getActiveResourcesInfo().filter((name) => name === "ProcessWrap").length;

describe("a program of the host", () => {
  test("returns its exit code and its output", async () => {
    expect(await run("sh", ["-c", "echo out; echo err >&2; exit 3"])).toEqual({ code: 3, output: "out\nerr" });
    expect(await run("sh", ["-c", "kill -9 $$"])).toEqual({ code: null, output: "" });
  });

  test("is started by another process, so that it does not block the event loop", async () => {
    const before = countChildren();
    const running = run("sleep", ["0.2"]);
    expect(countChildren()).toBe(before);
    expect(await running).toEqual({ code: 0, output: "" });
  });

  test("inherits nothing of the server's environment", async () => {
    process.env.OF_THE_SERVER = "secret";
    expect((await run("env", [])).output).not.toContain("OF_THE_SERVER");
    expect((await run("env", [], { env: { PATH: "/usr/bin:/bin", OWN: "1" } })).output).toContain("OWN=1");
  });

  test("may print any amount, of which the beginning is kept", async () => {
    const { code, output } = await run("sh", ["-c", "head -c 1000000 /dev/zero | tr '\\0' x"]);
    expect(code).toBe(0);
    expect(output.length).toBeGreaterThanOrEqual(64 * 1024);
    expect(output.length).toBeLessThan(256 * 1024);
  });

  test("may leave a child behind when its output is discarded", async () => {
    expect(await run("sh", ["-c", "sleep 1 & exit 0"], { quiet: true })).toEqual({ code: 0, output: "" });
  });

  test("is not waited for because of a child that holds its output", async () => {
    const pid = Number((await run("sh", ["-c", "sleep 1000 & echo $!; kill -9 $$"])).output);
    process.kill(pid, "SIGKILL");
  });

  test("does not get the signals of the server's process group", async () => {
    const group = async (pid: string) => (await mustRun("ps", ["-o", "pgid=", "-p", pid])).trim();
    expect((await run("sh", ["-c", "ps -o pgid= -p $$"])).output.trim()).not.toBe(await group(String(process.pid)));
  });

  test("does not wait for programs that run at the same time", async () => {
    const stop = new AbortController();
    const slow = run("sleep", ["60"], { signal: stop.signal });
    const outputs = await Promise.all(Array.from({ length: 20 }, (_, i) => mustRun("echo", [`${i}`])));
    expect(outputs).toEqual(Array.from({ length: 20 }, (_, i) => `${i}`));
    expect(await Promise.race([slow, Promise.resolve("still running")])).toBe("still running");
    stop.abort(new Error("enough"));
    await expect(slow).rejects.toThrow("enough");
  });

  test("is killed on abort, and the call rejects after it has ended", async () => {
    const folder = mkdtempSync(join(tmpdir(), "berth-run-"));
    const pidFile = join(folder, "pid");
    const stop = new AbortController();
    const running = run("sh", ["-c", `echo $$ > ${pidFile}; exec sleep 60`], { signal: stop.signal });
    await expect.poll(() => existsSync(pidFile) && readFileSync(pidFile, "utf8").trim()).toBeTruthy();
    stop.abort(new Error("enough"));
    await expect(running).rejects.toThrow("enough");
    expect(existsSync(`/proc/${readFileSync(pidFile, "utf8").trim()}`)).toBe(false);
    await expect(run("true", [], { signal: stop.signal })).rejects.toThrow("enough");
    rmSync(folder, { recursive: true });
  });

  test("is killed after the timeout", async () => {
    await expect(run("sleep", ["60"], { timeoutMs: 100 })).rejects.toMatchObject({ code: "sandbox_timeout" });
  });

  test("that does not exist rejects with ENOENT", async () => {
    await expect(run("no-such-program", [])).rejects.toMatchObject({ code: "ENOENT" });
    await expect(run("true", ["\0"])).rejects.toThrow("NUL");
  });

  test("can be held until it is disposed, and is started by another process", async () => {
    const before = countChildren();
    const holding = hold("cat", [], AbortSignal.timeout(10_000));
    expect(countChildren()).toBe(before);
    const held = await holding;
    expect(readFileSync(`/proc/${held.pid}/comm`, "utf8")).toBe("cat\n");
    await held[Symbol.asyncDispose]();
    expect(existsSync(`/proc/${held.pid}`)).toBe(false);
  });

  test("that cannot be held rejects with its error, and an abort ends it", async () => {
    await expect(hold("sh", ["-c", "echo why >&2; exit 2"], AbortSignal.timeout(10_000))).rejects.toThrow("why");
    await expect(hold("no-such-program", [], AbortSignal.timeout(10_000))).rejects.toThrow("ENOENT");
    const stop = new AbortController();
    const never = hold("sleep", ["60"], stop.signal);
    stop.abort(new Error("enough"));
    await expect(never).rejects.toThrow("enough");
  });

  test("that is held ends when the server is killed", async () => {
    const script = `const { hold } = await import(${JSON.stringify(join(import.meta.dirname, "run.ts"))});
      console.log((await hold("cat", [], AbortSignal.timeout(60_000))).pid);
      setInterval(() => {}, 1000);`;
    const server = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: ["ignore", "pipe", "inherit"] });
    const [pid] = (await once(server.stdout, "data")) as [Buffer];
    server.kill("SIGKILL");
    await expect.poll(() => existsSync(`/proc/${pid.toString().trim()}`)).toBe(false);
  });

  test("is started by a process that ignores signals to the whole group, and that is replaced if it is killed", async () => {
    const { pid } = await hold("cat", [], AbortSignal.timeout(10_000));
    const workerPid = Number(/^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
    process.kill(workerPid, "SIGTERM");
    expect((await run("echo", ["still there"])).output).toBe("still there");
    const failing = run("sleep", ["1"]);
    process.kill(workerPid, "SIGKILL");
    await expect(failing).rejects.toThrow("the process that runs programs ended with SIGKILL");
    expect((await run("echo", ["again"])).output).toBe("again");
  });

  test("that fails makes mustRun reject", async () => {
    await expect(mustRun("sh", ["-c", "echo why; exit 2"])).rejects.toThrow("sh -c echo why; exit 2 ended with 2: why");
  });
});
