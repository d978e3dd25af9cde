import { AppError, isAppError, type EgressPolicy, type SandboxId } from "@berth/contract";
import { afterEach, expect, test } from "vitest";
import { onBothEngines } from "../../../tests/support/databases/stores.ts";
import { SECOND } from "../../clock.ts";
import type { Driver } from "../../drivers/driver.ts";
import { DEFAULT_TEMPLATE } from "../../templates.ts";
import { aRequest, openTestSessions, type TestSessions } from "../testing/test-sessions.ts";

const PUBLIC: EgressPolicy = { policy: "public" };
const NONE: EgressPolicy = { policy: "none" };
const MiB = 1024 * 1024;

// The limits that the sandboxes of a machine have.
function createMachine() {
  const limits = new Map<SandboxId, { cpus: number; memoryMb: number }>();
  const policies = new Map<SandboxId, EgressPolicy>();
  const calls: string[] = [];
  const machine = { limits, policies, calls, heldBytes: 0, isBroken: false };
  const egress = {
    open: async (id: SandboxId, { egress: policy }: { egress: EgressPolicy }) => void policies.set(id, policy),
    async change(id: SandboxId, { egress: policy }: { egress: EgressPolicy }, { closeConnections }: { closeConnections: boolean }) {
      policies.set(id, policy);
      calls.push(`${policy.policy}${closeConnections ? " and close" : ""}`);
    },
    close: async () => {},
  };
  const withLimits = (driver: Driver): Driver => ({
    ...driver,
    liveLimits: {
      async change(id, { cpus, memoryMb }) {
        if (machine.isBroken) throw new AppError("sandbox_failed");
        limits.set(id, { cpus, memoryMb });
      },
      heldMemoryBytes: async () => machine.heldBytes,
    },
  });
  return Object.assign(machine, { egress, withLimits });
}

const templates = new Map([
  ["default", { ...DEFAULT_TEMPLATE, memoryMb: 512, maxResources: { cpus: 4, memoryMb: 4096 }, maxEgress: PUBLIC, egress: NONE }],
]);
const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => "ok",
    (error: unknown) => (isAppError(error) ? error.code : String(error)),
  );

let services: TestSessions;
afterEach(() => services?.[Symbol.asyncDispose]());

onBothEngines("limits that change while a session exists", (databases) => {
  async function open(machine = createMachine(), options: Parameters<typeof openTestSessions>[0] = {}) {
    const { url: databaseUrl } = await databases.create();
    services = await openTestSessions({ templates, egress: machine.egress, wrapDriver: machine.withLimits, databaseUrl, ...options });
    const { id, sandboxId } = await services.sessions.create(services.acme, aRequest());
    machine.calls.length = 0;
    const { sessions } = services;
    const update = (change: Parameters<typeof sessions.update>[2]) => sessions.update("acme", id, change);
    return { machine, id, sandboxId, sessions, update };
  }

  test("a running sandbox has them when the call returns, and null is back to the template", async () => {
    const { machine, sandboxId, update } = await open();
    expect(await update({ egress: PUBLIC, closeConnections: true })).toMatchObject({ egress: PUBLIC });
    expect(machine.calls).toEqual(["public and close"]);
    await update({ egress: { policy: "hosts", hosts: ["a.org"] } });
    // Connections are not closed again by a change that does not ask for it.
    expect(machine.calls.at(-1)).toBe("hosts");
    expect(await update({ resources: { memoryMb: 1024 } })).toMatchObject({ resources: { memoryMb: 1024 } });
    expect(await update({ resources: { cpus: 2 } })).toMatchObject({ resources: { memoryMb: 1024, cpus: 2 } });
    expect(machine.limits.get(sandboxId)).toEqual({ memoryMb: 1024, cpus: 2 });
    expect(await update({ egress: null, resources: null })).toMatchObject({ egress: null, resources: null });
    expect([machine.policies.get(sandboxId), machine.limits.get(sandboxId)]).toEqual([NONE, { memoryMb: 512, cpus: 1 }]);
    // Other changes do not touch the sandbox.
    const before = machine.calls.length;
    await update({ metadata: { a: "b" } });
    expect(machine.calls).toHaveLength(before);
  });

  test("changes at once are all kept, and the sandbox has what the row says", async () => {
    const { machine, id, sandboxId, sessions, update } = await open();
    const policies = [PUBLIC, NONE, { policy: "hosts" as const, hosts: ["a.org"] }];
    await Promise.all([
      ...policies.map((egress) => update({ egress })),
      update({ resources: { cpus: 3 } }),
      update({ resources: { memoryMb: 2048 } }),
    ]);
    const { egress, resources } = await sessions.get("acme", id);
    expect(resources).toEqual({ cpus: 3, memoryMb: 2048 });
    expect([machine.policies.get(sandboxId), machine.limits.get(sandboxId)]).toEqual([egress, { cpus: 3, memoryMb: 2048 }]);
  });

  test("a change of a paused session holds when it is resumed, and one during the resume when that is done", async () => {
    const begun = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    let isHeld = false;
    const { machine, id, sandboxId, sessions, update } = await open(createMachine(), {
      wrapLinks: (links) => ({
        ...links,
        async start(...args) {
          if (isHeld) {
            begun.resolve();
            await goOn.promise;
          }
          return links.start(...args);
        },
      }),
    });
    await sessions.pause("acme", id);
    await update({ egress: PUBLIC, resources: { memoryMb: 1024 } });
    expect(machine.calls).toEqual([]);
    isHeld = true;
    const resuming = sessions.resume("acme", id, { autoStartAgent: false });
    await begun.promise;
    expect(machine.policies.get(sandboxId)).toEqual(PUBLIC);
    await update({ egress: NONE, resources: { cpus: 2 } });
    goOn.resolve();
    await resuming;
    await expect.poll(() => [machine.policies.get(sandboxId), machine.limits.get(sandboxId)]).toEqual([NONE, { memoryMb: 1024, cpus: 2 }]);
  });

  test("a change that another server has written reaches the sandbox with the next look, and only the server of the sandbox applies it", async () => {
    const machine = createMachine();
    const { id, sandboxId } = await open(machine);
    await services.start();
    const elsewhere = createMachine();
    await using other = services.another({ host: "other", egress: elsewhere.egress });
    await other.sessions.update("acme", id, { egress: PUBLIC, closeConnections: true });
    expect([machine.calls, elsewhere.calls]).toEqual([[], []]);
    await services.clock.advance(SECOND / 2);
    await expect.poll(() => machine.calls).toEqual(["public and close"]);
    expect(elsewhere.calls).toEqual([]);
    // Resources need the server that can ask the sandbox what it holds.
    expect(await codeOf(other.sessions.update("acme", id, { resources: { memoryMb: 1024 } }))).toBe("session_elsewhere");
    expect(machine.limits.get(sandboxId)?.memoryMb).toBe(512);
  });

  test("a server that starts applies what the one before has only written", async () => {
    const machine = createMachine();
    const { sandboxId, update } = await open(machine);
    machine.isBroken = true;
    // It is written, and will be applied.
    expect(await update({ resources: { memoryMb: 1024 } })).toMatchObject({ resources: { memoryMb: 1024 } });
    expect(machine.limits.get(sandboxId)).toBeUndefined();
    await services.stop();
    machine.isBroken = false;
    await using next = services.another();
    await next.start();
    await services.clock.advance(SECOND / 2);
    await expect.poll(() => machine.limits.get(sandboxId)).toEqual({ memoryMb: 1024, cpus: 1 });
  });

  test("a change that failed is tried again after a while", async () => {
    const machine = createMachine();
    const { sandboxId, update } = await open(machine);
    await services.start();
    machine.isBroken = true;
    await update({ resources: { memoryMb: 1024 } });
    machine.isBroken = false;
    for (let seconds = 0; seconds < 11; seconds++) await services.clock.advance(SECOND);
    await expect.poll(() => machine.limits.get(sandboxId)?.memoryMb).toBe(1024);
  });

  test("less memory than the programs hold is refused, and nothing changes", async () => {
    const { machine, id, sessions, update } = await open();
    await update({ resources: { memoryMb: 2048 } });
    machine.heldBytes = 1025 * MiB;
    expect(await codeOf(update({ resources: { memoryMb: 1024 }, metadata: { a: "b" } }))).toBe("memory_in_use");
    expect(await sessions.get("acme", id)).toMatchObject({ resources: { memoryMb: 2048 }, metadataJson: "{}" });
    expect(await codeOf(update({ resources: { memoryMb: 1026 } }))).toBe("ok");
    // The limit of a paused session counts too, because its memory is kept.
    await sessions.pause("acme", id);
    expect(await codeOf(update({ resources: null }))).toBe("memory_in_use");
    await services.hibernate("acme", id);
    expect(await codeOf(update({ resources: null }))).toBe("ok");
  });

  test("without live limits of the driver, only a hibernated session takes other resources, and egress always changes", async () => {
    const machine = createMachine();
    const { id, sessions, update } = await open(machine, { wrapDriver: (driver) => driver });
    const change = () => codeOf(update({ resources: { memoryMb: 1024 } }));
    expect(await change()).toBe("resources_fixed");
    expect(await codeOf(update({ resources: { memoryMb: 512 } }))).toBe("ok");
    expect(await codeOf(update({ egress: PUBLIC }))).toBe("ok");
    await sessions.pause("acme", id);
    expect(await change()).toBe("resources_fixed");
    await services.hibernate("acme", id);
    expect(await change()).toBe("ok");
    await sessions.resume("acme", id, { autoStartAgent: false });
    expect(await sessions.get("acme", id)).toMatchObject({ resources: { memoryMb: 1024 }, egress: PUBLIC });
    await sessions.destroy("acme", id);
    expect(await change()).toBe("session_not_found");
  });
});
