import { availableParallelism } from "node:os";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWith, machine } from "../../support/machine.ts";
import { ATTACKS } from "./attacks.ts";
import { destroySession, openInstallation, type Installation } from "./installation.ts";
import { measure } from "./measure.ts";
import { ACTIONS, openVictim, type Victim } from "./victim.ts";

// The short form of `npm run fairness`: several attacks at once, with assertions that do not depend on the load of the machine.
// No request is refused, no result is lost, and the server survives within its memory limit.
const ROUNDS = 2;
const MAX_SERVER_MB = 700;
const AT_ONCE = [
  ["egress flood", "egress connections", "model flood"],
  ["file watches", "disk and files", "processor", "memory", "processes"],
  ["endless exec output", "terminal output", "WebSocket frames", "500 connections"],
  ["webhooks that hang", "huge lists"],
  ["create flood", "destroy flood"],
];
// Many times as many as can start at once.
const FLOOD = 12 * availableParallelism();

describeWith([await machine.oci(), machine.command("python3"), machine.command("curl")], "a hostile tenant", () => {
  let installation: Installation;
  let victim: Victim;

  beforeAll(async () => {
    installation = await openInstallation();
    victim = await openVictim(installation);
  });
  afterAll(async () => {
    await victim?.[Symbol.asyncDispose]();
    await installation?.[Symbol.asyncDispose]();
  });

  test("every attack is tried here", () => {
    expect(AT_ONCE.flat().toSorted()).toEqual(ATTACKS.map(({ name }) => name).toSorted());
  });

  test("a create waits for its turn, and not for the creates that another partner has begun", async () => {
    const flood = await installation.addPartner("flood");
    let isDone = false;
    const creates = Array.from({ length: FLOOD }, async () => {
      const session = await flood.create({ autoStartAgent: false });
      return { session, isLater: isDone };
    });
    await Promise.race(creates);
    const own = await installation.victim.api.create({ externalUserId: "another", autoStartAgent: false });
    isDone = true;
    const created = await Promise.all(creates);
    expect(created.filter(({ isLater }) => isLater).length).toBeGreaterThan(FLOOD / 2);
    await Promise.all([destroySession(installation.victim.api, own), ...created.map(({ session }) => destroySession(flood, session))]);
  });

  test.each(AT_ONCE.map((names) => [names.join(", "), names] as const))(
    "costs its neighbour nothing but time: %s",
    async (_name, names) => {
      const round = await measure(installation, victim, names, ROUNDS);
      expect(round.refused).toEqual([]);
      for (const action of ACTIONS) expect(round.times[action].length).toBeGreaterThanOrEqual(ROUNDS);
      expect(round.serverMemoryMb).toBeLessThan(MAX_SERVER_MB);
    },
  );
});
