import { expect, test } from "vitest";
import { createLaneSlots, LANES_AT_ONCE, LANES_PER_ENDPOINT, LANES_PER_PARTNER } from "./lane-slots.ts";

const endpoint = (partner: number, id: number, failingSince: number | null = null) => ({
  id: `whk_${partner}_${id}`,
  partner_id: `p${partner}`,
  failing_since: failingSince,
});

test("an endpoint, a failing endpoint and a partner each have their limit", () => {
  const slots = createLaneSlots();
  const fill = (one: ReturnType<typeof endpoint>) => {
    let taken = 0;
    for (; slots.hasRoom(one); taken++) slots.take(one);
    return taken;
  };
  expect(fill(endpoint(1, 1))).toBe(LANES_PER_ENDPOINT);
  expect(fill(endpoint(1, 2, 1))).toBe(1);
  expect(fill(endpoint(1, 3))).toBe(LANES_PER_PARTNER - LANES_PER_ENDPOINT - 1);
  expect(fill(endpoint(1, 4))).toBe(0);
  expect(slots.ofPartner("p1")).toBe(LANES_PER_PARTNER);
});

test("when all slots are taken, every other partner still gets one, and freed slots are available again", () => {
  const slots = createLaneSlots();
  const full = LANES_AT_ONCE / LANES_PER_PARTNER;
  const giveBack = Array.from({ length: LANES_AT_ONCE }, (_, n) => slots.take(endpoint(n % full, n)));
  for (let partner = full; partner < full + 100; partner++) {
    expect(slots.hasRoom(endpoint(partner, 1))).toBe(true);
    slots.take(endpoint(partner, 1));
    expect(slots.hasRoom(endpoint(partner, 2))).toBe(false);
  }
  for (const give of giveBack) give();
  expect(slots.ofPartner("p0")).toBe(0);
  expect(slots.hasRoom(endpoint(0, 1))).toBe(true);
});
