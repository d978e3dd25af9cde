import { createHash } from "node:crypto";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newId } from "@berth/contract";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { describeWith } from "../../../tests/support/machine.ts";
import { IMAGE_MARK } from "../../../tests/support/docker/debian-root.ts";
import { dockerMissing, startDockerEngine, type TestEngine } from "../../../tests/support/docker/engine.ts";
import { daemonRuntime } from "../../../tests/support/runtime.ts";
import { silentLog } from "../../log.ts";
import { DEFAULT_TEMPLATE } from "../../templates.ts";
import type { Driver, SandboxSpec } from "../driver.ts";
import { exec } from "../testing/driver.suite.ts";
import { containerName } from "./container.ts";
import { createDockerDriver, type DockerOptions } from "./docker.ts";
import { probeDocker } from "./probe.ts";

interface Inspected {
  Id: string;
  State: { Status: string };
  Config: { Env: string[]; Labels: Record<string, string> };
  HostConfig: { Memory: number };
}
const deadline = (ms = 60_000) => AbortSignal.timeout(ms);

describeWith(dockerMissing, "docker", () => {
  let engine: TestEngine;
  let dataDir: string;
  let options: DockerOptions;
  let driver: Driver;
  let made: SandboxSpec[] = [];

  beforeAll(async () => {
    engine = await startDockerEngine();
    dataDir = await mkdtemp(join(tmpdir(), "berth-docker-"));
    options = {
      socketPath: engine.socketPath,
      image: engine.image,
      dataDir,
      runtimeDir: await daemonRuntime(),
      installation: "resilience",
      boundDisks: true,
      log: silentLog,
    };
    driver = createDockerDriver(options);
  });
  afterEach(async () => {
    for (const { id } of made) await driver.destroy(id, deadline());
    made = [];
  });
  afterAll(async () => {
    await driver[Symbol.asyncDispose]();
    await engine[Symbol.asyncDispose]();
    await rm(dataDir, { recursive: true, force: true });
  });

  const newSpec = (template: Partial<SandboxSpec["template"]> = {}): SandboxSpec => {
    const spec: SandboxSpec = {
      id: newId("sbx", Date.now()),
      template: { ...DEFAULT_TEMPLATE, ...template },
      tokenHash: createHash("sha256").update("a token of the suite").digest("hex"),
    };
    made.push(spec);
    return spec;
  };
  const inspect = async ({ id }: SandboxSpec) => (await engine.call("GET", `/containers/${containerName(id)}/json`)) as Inspected;

  test("calls time out while the Engine is down, and a sandbox keeps its files when the Engine comes back", async () => {
    const spec = newSpec();
    await driver.create(spec, deadline());
    await exec(driver, spec.id, "echo kept > note");
    await engine.stop();
    await expect(driver.pause(spec.id, deadline())).rejects.toMatchObject({ code: "sandbox_timeout" });
    // An empty list would mean that every sandbox is gone.
    await expect(driver.list(deadline())).rejects.toMatchObject({ code: "sandbox_timeout" });
    await expect(driver.create(newSpec(), deadline())).rejects.toMatchObject({ code: "sandbox_timeout" });
    expect(await probeDocker(engine.socketPath, engine.image)).toMatchObject({ usable: false });
    await engine.start();
    expect(await driver.inspect(spec.id, deadline())).toBe("stopped");
    expect(await driver.resume(spec, deadline())).toEqual({ restarted: true });
    expect(await exec(driver, spec.id, "cat note")).toBe("kept\n");
  });

  describe("a sandbox", () => {
    const template = { memoryMb: 256, pids: 40, diskMb: 64, tmpMb: 32, env: { SECRET: "of the template" } };
    let spec: SandboxSpec;
    let id: SandboxSpec["id"];
    beforeAll(async () => {
      spec = newSpec(template);
      // It lives longer than one test.
      made = [];
      id = spec.id;
      await driver.create(spec, deadline());
    });
    afterAll(() => driver.destroy(id, deadline()));

    test("sees the root of the image, not that of the host", async () => {
      expect(await exec(driver, id, "cat /etc/debian_chroot")).toBe(IMAGE_MARK);
      expect(await exec(driver, id, "git --version; rg --version")).toMatch(/^git version.*\nripgrep/);
    });

    test("has an ordinary user without privileges, no network, and a read-only root", async () => {
      const status = await exec(driver, id, "id -u; grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status | tr -s '\\t ' ' '");
      expect(status).toBe("1000\nCapEff: 0000000000000000\nCapBnd: 0000000000000000\nNoNewPrivs: 1\nSeccomp: 2\n");
      expect(await exec(driver, id, "ls /sys/class/net")).toBe("lo\n");
      for (const path of ["/usr/bin/x", "/etc/x", "/opt/berth/x", "/opt/berth/daemon.cjs", "/run/berth-egress/x"])
        expect(await exec(driver, id, `(echo x >> ${path}) 2> /dev/null && echo written || echo refused`)).toBe("refused\n");
      await exec(driver, id, "head -c 64M /dev/zero > /tmp/fill || true");
      expect(Number(await exec(driver, id, "stat -c %s /tmp/fill; rm /tmp/fill"))).toBe(32 * 1024 * 1024);
      expect(await exec(driver, id, "mount -t tmpfs x /mnt 2> /dev/null || unshare -m true 2> /dev/null || echo refused")).toBe(
        "refused\n",
      );
      expect((await stat(join(dataDir, "sandboxes", id, "run"))).uid).toBe(1000);
    });

    test("has no secret in the environment and the labels of its container", async () => {
      const { Config } = await inspect(spec);
      const names = [
        "BERTH_TOKEN_HASH",
        "BERTH_SOCKET",
        "BERTH_WORKSPACE",
        "BERTH_HOME",
        "BERTH_EGRESS",
        "HOME",
        "LD_LIBRARY_PATH",
        "LD_PRELOAD",
      ];
      expect(new Set(Config.Env.map((line) => line.split("=")[0]))).toEqual(new Set(names));
      expect(Config.Labels).toMatchObject({ "dev.berth.installation": "resilience", "dev.berth.sandbox": spec.id });
    });

    test("has a limited disk and control folder, and starts with a full one", async () => {
      for (const path of ["/workspace/fill", "/home/user/fill", "/run/berth/fill"]) {
        await exec(driver, id, `head -c 100M /dev/zero > ${path} || true`);
        expect(Number(await exec(driver, id, `stat -c %s ${path}`))).toBeLessThan(64 * 1024 * 1024);
      }
      // A sandbox starts even if its disk is full.
      await driver.hibernate(id, deadline());
      await driver.resume(spec, deadline());
      expect(await exec(driver, id, "rm /workspace/fill && echo room > note && cat note")).toBe("room\n");
    });

    test("has limited memory and processes", async () => {
      const hog = await exec(
        driver,
        id,
        "/opt/berth/bin/node -e 'const a=[];for(;;)a.push(Buffer.alloc(1<<24,1))' > /dev/null 2>&1; echo ended with $?",
      );
      expect(hog).toBe("ended with 137\n");
      await exec(driver, id, "for i in $(seq 60); do sleep 3 > /dev/null 2>&1 & done");
      expect((await driver.stats(id, deadline())).pids).toBeLessThanOrEqual(40);
    });
  });

  describe("a late event of containerd", () => {
    let lateEventDriver: Driver;
    let spec: SandboxSpec;
    beforeAll(async () => {
      // Long enough that a stalled machine does not end the period in which an event may be late.
      lateEventDriver = createDockerDriver({ ...options, lateEventMs: 10 * 60_000 });
      spec = newSpec();
      made = [];
      await lateEventDriver.create(spec, deadline());
    });
    beforeEach(() => lateEventDriver.resume(spec, deadline()));
    afterAll(async () => {
      await lateEventDriver.destroy(spec.id, deadline());
      await lateEventDriver[Symbol.asyncDispose]();
    });
    const sendLateEvent = async (change: "paused" | "resumed") => engine.echo((await inspect(spec)).Id, change);
    const conditions = async () => [
      await lateEventDriver.inspect(spec.id, deadline()),
      (await lateEventDriver.list(deadline()))[0]?.condition,
    ];
    // After this, the Engine reports a wrong status.
    const mislead = async (change: "paused" | "resumed", status: string) => {
      await sendLateEvent(change);
      await expect.poll(async () => (await inspect(spec)).State.Status).toBe(status);
    };

    test("does not make a resumed sandbox look paused", async () => {
      await lateEventDriver.pause(spec.id, deadline());
      await lateEventDriver.resume(spec, deadline());
      await mislead("paused", "paused");
      expect(await conditions()).toEqual(["running", "running"]);
      expect(await lateEventDriver.resume(spec, deadline())).toEqual({ restarted: false });
      expect(await exec(lateEventDriver, spec.id, "echo ok")).toBe("ok\n");
      // The Engine refuses the pause until another event corrects its status.
      const pausing = lateEventDriver.pause(spec.id, deadline());
      await sendLateEvent("resumed");
      await pausing;
      expect((await inspect(spec)).State.Status).toBe("paused");
      expect(await conditions()).toEqual(["frozen", "frozen"]);
    });

    test("does not make a paused sandbox look resumed", async () => {
      await lateEventDriver.pause(spec.id, deadline());
      await mislead("resumed", "running");
      expect(await conditions()).toEqual(["frozen", "frozen"]);
      await lateEventDriver.pause(spec.id, deadline());
      const resuming = lateEventDriver.resume(spec, deadline());
      await sendLateEvent("paused");
      expect(await resuming).toEqual({ restarted: false });
      expect(await exec(lateEventDriver, spec.id, "echo ok")).toBe("ok\n");
    });

    test("does not prevent a frozen sandbox from being hibernated or destroyed", async () => {
      await lateEventDriver.pause(spec.id, deadline());
      await mislead("resumed", "running");
      const hibernating = lateEventDriver.hibernate(spec.id, deadline());
      await sendLateEvent("paused");
      await hibernating;
      expect(await conditions()).toEqual(["stopped", "stopped"]);
      await lateEventDriver.resume(spec, deadline());
      await lateEventDriver.pause(spec.id, deadline());
      await mislead("resumed", "running");
      await lateEventDriver.destroy(spec.id, deadline());
      expect(await lateEventDriver.inspect(spec.id, deadline())).toBe("absent");
    });
  });

  test("a container that was removed by hand is recreated over the same files", async () => {
    const spec = newSpec();
    await driver.create(spec, deadline());
    await exec(driver, spec.id, "echo kept > note");
    await engine.call("DELETE", `/containers/${containerName(spec.id)}?force=1`);
    expect(await driver.inspect(spec.id, deadline())).toBe("stopped");
    expect(await driver.list(deadline())).toContainEqual({ id: spec.id, condition: "stopped" });
    await driver.resume(spec, deadline());
    expect(await exec(driver, spec.id, "cat note")).toBe("kept\n");
  });

  test("a tree that is deeper than the maximum path length can be destroyed", async () => {
    const spec = newSpec();
    await driver.create(spec, deadline());
    await exec(driver, spec.id, "d=$(printf 'd%.0s' $(seq 200)); for i in $(seq 40); do mkdir $d && cd $d || break; done; pwd | wc -c");
    await driver.destroy(spec.id, deadline());
    expect(await driver.inspect(spec.id, deadline())).toBe("absent");
  });

  test("a changed template applies at the next resume", async () => {
    const spec = newSpec();
    await driver.create(spec, deadline());
    await driver.hibernate(spec.id, deadline());
    await driver.resume({ ...spec, template: { ...spec.template, memoryMb: 333 } }, deadline());
    expect((await inspect(spec)).HostConfig.Memory).toBe(333 * 1024 * 1024);
  });

  test("containers of another installation are not listed", async () => {
    await engine.call("POST", "/containers/create?name=stranger", {
      Image: engine.image,
      Cmd: ["sleep", "100"],
      Labels: { "dev.berth.installation": "other" },
      HostConfig: { NetworkMode: "none" },
    });
    expect(await driver.list(deadline())).toEqual([]);
    await engine.call("DELETE", "/containers/stranger?force=1");
  });

  test("volumes that an image declares have a size limit and are removed with the sandbox", async () => {
    const image = "berth-volumes:1";
    await engine.call("POST", "/containers/create?name=base", { Image: engine.image, Cmd: ["true"] });
    await engine.call(
      "POST",
      `/commit?container=base&repo=berth-volumes&tag=1&changes=${encodeURIComponent("VOLUME /data /tmp /workspace")}`,
      {},
    );
    await engine.call("DELETE", "/containers/base");
    const spec = newSpec({ image, tmpMb: 16 });
    await driver.create(spec, deadline());
    for (const path of ["/data/fill", "/tmp/fill"]) {
      await exec(driver, spec.id, `head -c 32M /dev/zero > ${path} || true`);
      expect(Number(await exec(driver, spec.id, `stat -c %s ${path}`))).toBe(16 * 1024 * 1024);
    }
    await driver.destroy(spec.id, deadline());
    expect(await engine.named("")).toEqual([]);
    await engine.call("DELETE", `/images/${image}`);
  });

  test("a missing image or a missing runtime fails the create and leaves nothing behind", async () => {
    for (const template of [{ image: "127.0.0.1:9/nothing:1" }, { runtime: "runsc-not-here" }]) {
      const spec = newSpec(template);
      await expect(driver.create(spec, deadline())).rejects.toMatchObject({ code: "sandbox_failed" });
      expect(await driver.inspect(spec.id, deadline())).toBe("absent");
    }
    expect(await engine.named("")).toEqual([]);
  });

  test("the probe says what it found, and how to get what is missing", async () => {
    expect(await probeDocker(engine.socketPath, engine.image)).toMatchObject({ usable: true });
    const { usable, reason } = await probeDocker(engine.socketPath, "berth-sandbox:latest");
    expect({ usable, reason }).toEqual({
      usable: false,
      reason: expect.stringMatching(/docker build -f deploy\/Dockerfile.sandbox/) as string,
    });
  });
});
