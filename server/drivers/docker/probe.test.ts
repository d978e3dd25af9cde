import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { probeDocker } from "./probe.ts";

async function probeEngine(securityOptions: string[]) {
  const folder = await mkdtemp(join(tmpdir(), "berth-docker-"));
  const answers: Record<string, object> = {
    version: { Version: "28.0", ApiVersion: "1.48" },
    info: { SecurityOptions: securityOptions },
  };
  const server = createServer((request, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(answers[request.url?.split("/").at(-1) ?? ""] ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(join(folder, "docker.sock"), resolve));
  try {
    return await probeDocker(join(folder, "docker.sock"), "x");
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await rm(folder, { recursive: true });
  }
}

test("an Engine that maps users is refused", async () => {
  expect(await probeEngine(["name=seccomp,profile=builtin", "name=userns"])).toMatchObject({
    usable: false,
    reason: expect.stringContaining("userns-remap") as string,
  });
});

test("an Engine without a system call filter is refused", async () => {
  expect(await probeEngine(["name=apparmor"])).toMatchObject({
    usable: false,
    reason: expect.stringContaining("has no seccomp, which filters the system calls of sandboxes") as string,
  });
});

test("the probe says what to do if there is no Engine", async () => {
  expect((await probeDocker("/nowhere/docker.sock", "x")).reason).toBe(
    "No Docker Engine answers at /nowhere/docker.sock. Start one, or set BERTH_DOCKER_SOCKET to its socket.",
  );
});
