import { newId } from "@berth/contract";
import { expect, test } from "vitest";
import type { SessionView } from "../../sessions/sessions.ts";
import { pageJson, toSession, withDetails } from "./session-view.ts";

const BASE_URL = "https://berth.example";

const viewWith = (changes: Partial<SessionView>): SessionView => ({
  id: newId("ses", 1),
  sandboxId: newId("sbx", 1),
  partnerId: "acme",
  externalUserId: "user-1",
  status: "running",
  generation: 2,
  template: "default",
  metadataJson: "{}",
  timeoutMs: 1000,
  expiresAt: 2000,
  stopReason: null,
  createdAt: 1000,
  updatedAt: 1000,
  ...changes,
});

const odd = { plan: 'a "quote", a \\ and a \n', "key-ä": "\u2028 \ud800 😀", ["__proto__"]: "x", toString: "y" };

test.each([
  { expanded: true, show: withDetails },
  { expanded: false, show: toSession },
])("a page has what single reads have, expanded: $expanded", ({ expanded, show }) => {
  const views = [viewWith({ metadataJson: JSON.stringify(odd) }), viewWith({ status: "paused", expiresAt: null, stopReason: "api" })];
  expect(JSON.parse(pageJson(BASE_URL, views, { nextCursor: "abc", expanded }))).toEqual({
    data: views.map((view) => show(BASE_URL, view)),
    nextCursor: "abc",
  });
});

test("an empty page is one, too", () => {
  expect(JSON.parse(pageJson(BASE_URL, [], { nextCursor: null, expanded: true }))).toEqual({ data: [], nextCursor: null });
});

test("metadata is passed on as it is stored, without being parsed", () => {
  const stored = '{ "spaces" :"survive" }';
  expect(pageJson(BASE_URL, [viewWith({ metadataJson: stored })], { nextCursor: null, expanded: true })).toContain(stored);
});
