import { expect } from "vitest";
import type { TestSessions } from "./test-sessions.ts";

export const statesOf = async ({ store }: TestSessions): Promise<string[]> =>
  (await store.db.selectFrom("sessions").select("state").execute()).map((row) => row.state).sort();

export const templatesOf = async ({ store }: TestSessions, state: "warm" | "running"): Promise<string[]> =>
  (await store.db.selectFrom("sessions").select("template").where("state", "=", state).execute()).map((row) => row.template);

// Waits until the pool has this number of sandboxes and there are no other sessions.
export const filled = (services: TestSessions, size: number): Promise<void> =>
  expect.poll(() => statesOf(services)).toEqual(Array.from({ length: size }, () => "warm"));
