import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { newId, type SandboxId } from "@berth/contract";
import { ANONYMOUS_EDITOR } from "@berth/contract/workspace/visitor.ts";
import { MINUTE, SECOND } from "../../clock.ts";
import { createTestClock } from "../../testing/test-clock.ts";
import { createSecrets } from "../../secrets/secrets.ts";
import { createTickets } from "./launch-ticket.ts";

const oldKey = Buffer.alloc(32, 1);
const newKey = Buffer.alloc(32, 2);
const sandboxId: SandboxId = newId("sbx", Date.UTC(2030, 0, 1));

function setUp(masterKeys = [oldKey]) {
  const clock = createTestClock();
  const tickets = createTickets({ secrets: createSecrets(masterKeys), baseUrl: "https://berth.example", ttlMs: 5 * MINUTE, clock });
  const { url, expiresAt } = tickets.issueLaunchUrl({ partnerId: "acme", sandboxId });
  return { clock, tickets, url: new URL(url), query: new URL(url).search.slice(1), expiresAt };
}

// Queries with the same pairs in another order are the same ticket.
const meaningOf = (query: string) =>
  [...new URLSearchParams(query)]
    .map(String)
    .toSorted((a, b) => a.localeCompare(b))
    .join("&");

describe("a launch URL", () => {
  test("contains the sandbox in base64, the partner, the time of issue and a signature", () => {
    const { url, clock, expiresAt } = setUp();
    expect(url.origin + url.pathname).toBe("https://berth.example/workspace/");
    expect([...url.searchParams.keys()]).toEqual(["s", "partner", "ts", "sig"]);
    expect(Buffer.from(url.searchParams.get("s")!, "base64").toString()).toBe(sandboxId);
    expect(url.searchParams.get("partner")).toBe("acme");
    expect(url.searchParams.get("ts")).toBe(String(clock.now()));
    expect(expiresAt).toBe(clock.now() + 5 * MINUTE);
  });

  test("opens the sandbox until it expires", async () => {
    const { clock, tickets, query } = setUp();
    expect(tickets.verify(query)).toEqual({ valid: true, partnerId: "acme", sandboxId, visitor: ANONYMOUS_EDITOR });
    await clock.advance(5 * MINUTE - 1);
    expect(tickets.verify(query)).toMatchObject({ valid: true });
    await clock.advance(1);
    expect(tickets.verify(query)).toEqual({ valid: false, fault: "expired" });
  });

  test("is valid if the issuing clock is at most 30 seconds ahead", async () => {
    const { clock, tickets } = setUp();
    await clock.advance(30 * SECOND);
    const ahead = new URL(tickets.issueLaunchUrl({ partnerId: "acme", sandboxId }).url).search.slice(1);
    await clock.advance(1);
    const tooFar = new URL(tickets.issueLaunchUrl({ partnerId: "acme", sandboxId }).url).search.slice(1);
    const behind = setUp();
    expect(behind.tickets.verify(ahead)).toMatchObject({ valid: true });
    expect(behind.tickets.verify(tooFar)).toEqual({ valid: false, fault: "early" });
  });

  test("is signed with the newest key and verified with every active key", () => {
    const old = setUp([oldKey]);
    const both = setUp([newKey, oldKey]);
    const fresh = setUp([newKey]);
    expect(both.tickets.verify(old.query)).toMatchObject({ valid: true });
    expect(fresh.tickets.verify(both.query)).toMatchObject({ valid: true });
    expect(fresh.tickets.verify(old.query)).toEqual({ valid: false, fault: "forged" });
  });

  test("is forged if any of its values has changed", () => {
    const { tickets, url } = setUp();
    const other = Buffer.from(newId("sbx", 1)).toString("base64");
    for (const [name, value] of [
      ["s", other],
      ["partner", "evil"],
      ["ts", "1893456000001"],
      ["sig", "A".repeat(43)],
    ] as const) {
      const changed = new URL(url);
      changed.searchParams.set(name, value);
      expect([name, tickets.verify(changed.search.slice(1))]).toEqual([name, { valid: false, fault: "forged" }]);
    }
  });

  test("rejects other base64url encodings of its signature", () => {
    const { tickets, query } = setUp();
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const last = alphabet.indexOf(query.at(-1)!);
    for (const variant of [1, 2, 3].map((bits) => query.slice(0, -1) + alphabet[(last & ~3) | ((last + bits) & 3)]))
      expect(tickets.verify(variant)).toEqual({ valid: false, fault: "forged" });
  });

  test("is malformed if a value is missing, repeated, empty or padded, or if there are others", () => {
    const { tickets, query, url } = setUp();
    const s = url.searchParams.get("s")!;
    const variants = [
      "",
      query.replace(/&sig=.*/, ""),
      `${query}&ts=1`,
      `s=${encodeURIComponent(s)}&${query}`,
      `${query}&next=https://evil.example`,
      query.replace(/ts=\d+/, "ts="),
      query.replace("ts=", "ts=0"),
      query.replace("ts=", "ts=-"),
      query.replace("ts=", "ts=+"),
      query.replace(/ts=\d+/, "ts=1e12"),
      `${query}A`,
      `${query}%0a`,
      query.replace("sig=", "sig[]="),
      query.replace("partner=acme", "partner=acme%0av1"),
      query.replace("partner=acme", "__proto__=acme"),
      query.replace(/s=[^&]+/, `s=${encodeURIComponent(`${s}=`)}`),
      query.replace(/s=[^&]+/, `s=${sandboxId}`),
      query.replace(/s=[^&]+/, "s=%FF"),
      `${query}&${"x".repeat(2000)}`,
    ];
    for (const variant of variants) expect([variant, tickets.verify(variant)]).toEqual([variant, { valid: false, fault: "malformed" }]);
  });

  test("never verifies a query that was not issued, and never throws", () => {
    const { tickets, query } = setUp();
    const names = fc.constantFrom("s", "partner", "ts", "sig", "role", "name", "S", "x", "__proto__");
    const pairs = fc.array(fc.tuple(names, fc.oneof(fc.string(), fc.base64String(), fc.constant("acme"), fc.nat().map(String))), {
      maxLength: 6,
    });
    const built = pairs.map((list) => list.map(([name, value]) => `${name}=${encodeURIComponent(value.toWellFormed())}`).join("&"));
    const mutated = fc
      .tuple(fc.nat(query.length - 1), fc.string({ maxLength: 3 }), fc.nat(3))
      .map(([at, text, cut]) => query.slice(0, at) + text + query.slice(at + cut));
    fc.assert(
      fc.property(fc.oneof(fc.string(), built, mutated), (candidate) => {
        fc.pre(meaningOf(candidate) !== meaningOf(query));
        expect(tickets.verify(candidate).valid).toBe(false);
      }),
      { numRuns: 2000 },
    );
  });

  test("verifies for every partner, person and time of issue", () => {
    const displayName = fc.option(fc.string({ unit: "binary", minLength: 1, maxLength: 64 }));
    const visitors = fc.record({ role: fc.constantFrom("editor" as const, "viewer" as const), displayName });
    const partner = fc.stringMatching(/^[a-z][a-z0-9-]{0,30}$/);
    fc.assert(
      fc.property(partner, visitors, fc.nat(4_000_000_000_000), (partnerId, visitor, nowMs) => {
        const clock = createTestClock(nowMs + 1);
        const tickets = createTickets({ secrets: createSecrets([oldKey]), baseUrl: "http://localhost:8080", ttlMs: MINUTE, clock });
        const id = newId("sbx", nowMs);
        const launch = { partnerId, sandboxId: id, visitor };
        const { url } = tickets.issueLaunchUrl(launch);
        expect(tickets.verify(new URL(url).search.slice(1))).toEqual({ valid: true, ...launch });
      }),
      { numRuns: 200 },
    );
  });
});
