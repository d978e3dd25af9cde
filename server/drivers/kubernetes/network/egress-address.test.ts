import type { lookup } from "node:dns/promises";
import { expect, test } from "vitest";
import { MINUTE, SECOND } from "../../../clock.ts";
import { createTestClock } from "../../../testing/test-clock.ts";
import { silentLog } from "../../../log.ts";
import { openEgressAddress } from "./egress-address.ts";

async function open(egress: string | null = "berth-egress.berth.svc:3129", first: string | Error = "10.0.0.1") {
  const clock = createTestClock(0);
  const answers: (string | Error)[] = [first];
  let asked = 0;
  const resolve = (async () => {
    asked++;
    const [answer = "10.0.0.1"] = answers;
    if (answer instanceof Error) throw answer;
    return { address: answer, family: answer.includes(":") ? 6 : 4 };
  }) as unknown as typeof lookup;
  const address = await openEgressAddress(egress, { clock, log: silentLog, resolve });
  return { address, clock, become: (answer: string | Error) => void (answers[0] = answer), asked: () => asked };
}

test("the address is resolved again after half a minute, and not before", async () => {
  const { address, clock, become, asked } = await open();
  become("10.0.0.2");
  await clock.advance(29 * SECOND);
  expect(await address.current()).toBe("10.0.0.1:3129");
  await clock.advance(2 * SECOND);
  expect(await address.current()).toBe("10.0.0.2:3129");
  expect(asked()).toBe(2);
});

test("the last known address is used while the name cannot be resolved", async () => {
  const { address, clock, become } = await open();
  become(new Error("EAI_AGAIN"));
  await clock.advance(MINUTE);
  expect(await address.current()).toBe("10.0.0.1:3129");
  become("fd00::7");
  await clock.advance(MINUTE);
  expect(await address.current()).toBe("[fd00::7]:3129");
});

test("an unknown name is refused with a message that names it", async () => {
  await expect(open("berth-egress.berth.svc:3129", new Error("getaddrinfo EAI_AGAIN"))).rejects.toThrow(
    "the egress proxy berth-egress.berth.svc of sandboxes has no address: getaddrinfo EAI_AGAIN",
  );
});

test("without an address there is no egress, and an invalid address is refused", async () => {
  expect(await (await open(null)).address.current()).toBeNull();
  await expect(open("berth-egress")).rejects.toThrow('the egress address "berth-egress" is not host:port');
});
