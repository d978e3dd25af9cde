import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmodSync, copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { newId } from "@berth/contract";
import { afterEach, beforeEach, expect, test } from "vitest";
import { describeWith, machine } from "../../../../tests/support/machine.ts";
import { createOrphanedCommands } from "./orphaned-commands.ts";

describeWith(machine.root, "commands of a dead server", () => {
  const id = newId("sbx", 1);
  const OTHER_USER = 65_534;
  let folder: string;
  const children: ChildProcess[] = [];

  beforeEach(() => {
    // Other tests run the same programs, but not for this folder.
    folder = mkdtempSync(join(tmpdir(), "berth-orphans-"));
    chmodSync(folder, 0o755);
    // A program with a name that the driver runs.
    copyFileSync("/bin/sh", join(folder, "mount"));
  });
  afterEach(async () => {
    for (const child of children.splice(0)) {
      const ended = child.exitCode === null && child.signalCode === null ? once(child, "exit") : null;
      child.kill("SIGKILL");
      await ended;
    }
    rmSync(folder, { recursive: true });
  });

  async function start(words: string[], uid = 0): Promise<ChildProcess> {
    const child = spawn(join(folder, "mount"), ["-c", "echo ready; read forever", ...words], { uid, cwd: "/", stdio: "pipe" });
    children.push(child);
    await once(child.stdout!, "data");
    return child;
  }

  test("are killed, and the commands for other sandboxes are not", async () => {
    const ours = await start([id, folder]);
    const others = await start([newId("sbx", 2), folder]);
    const ended = once(ours, "exit");
    await createOrphanedCommands(folder, "runc").kill(id);
    await ended;
    expect(others.exitCode ?? others.signalCode).toBeNull();
  });

  test("are distinguished from commands that this server starts later", async () => {
    const commands = createOrphanedCommands(folder, "runc");
    const own = await start([id, folder]);
    await commands.kill(id);
    expect(own.exitCode ?? own.signalCode).toBeNull();
  });

  test("that are system calls are waited for", async () => {
    const workerOf = async (server: number) => {
      const words = ["-c", "echo ready; read forever", "/folder/run-worker.ts", String(server)];
      const worker = spawn("/bin/sh", words, { stdio: "pipe" });
      children.push(worker);
      await once(worker.stdout!, "data");
      return worker;
    };
    // A worker of this process is none of a dead server.
    await workerOf(process.pid);
    const orphan = await workerOf(process.pid + 1);
    const killing = createOrphanedCommands(folder, "runc").kill(id);
    expect(await Promise.race([killing, sleep(50, "waiting")])).toBe("waiting");
    expect(orphan.exitCode ?? orphan.signalCode).toBeNull();
    orphan.stdin!.end();
    await killing;
  });

  test("are not looked for among the processes of sandboxes, whose memory map may be locked", async () => {
    const imitation = await start([id, folder], OTHER_USER);
    await createOrphanedCommands(folder, "runc").kill(id);
    expect(imitation.exitCode ?? imitation.signalCode).toBeNull();
  });
});
