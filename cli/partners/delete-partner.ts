import { setTimeout as delay } from "node:timers/promises";
import { updatePartner } from "@berth/server/keys/partners.ts";
import { countLiveSessions, deletePartnerRows } from "@berth/server/store/partners/delete-partner.ts";
import { listSessionDetails } from "@berth/server/store/sessions/listing/details.ts";
import { isAppError } from "@berth/contract";
import type { Context } from "../context.ts";
import { markSession, STEP_WAIT_MS } from "../sessions/mark-session.ts";

const SESSIONS_PER_ROUND = 200;
const ROWS_PER_ROUND = 1_000;

// Suspends a partner, destroys its sessions and deletes everything that is stored of it. Returns how many sessions still wait
// for a server to destroy their sandboxes; if there are some, the partner stays suspended and the call can be repeated.
export async function deletePartner(context: Context, id: string): Promise<{ waiting: number }> {
  const { store, change } = context;
  // No new session can start from here on.
  await change(async (tx, note) => {
    await updatePartner(tx, id, { state: "suspended" });
    await note("partner.delete", id, id);
  });
  const waiting = await destroySessions(context, id);
  if (waiting > 0) return { waiting };
  while (!(await store.transaction((tx) => deletePartnerRows(tx, id, ROWS_PER_ROUND))));
  return { waiting: 0 };
}

// Waits for as long as the number of sessions falls.
async function destroySessions(context: Context, partnerId: string): Promise<number> {
  const { store, clock } = context;
  let fewest = Infinity;
  let untilMs = 0;
  for (;;) {
    for (const session of await listSessionDetails(store.db, { partnerId, limit: SESSIONS_PER_ROUND }))
      if (session.state !== "destroying") await markIfLive(context, session.id);
    const waiting = await countLiveSessions(store.db, partnerId);
    if (waiting < fewest) {
      fewest = waiting;
      untilMs = clock.now() + STEP_WAIT_MS;
    }
    if (waiting === 0 || clock.now() > untilMs) return waiting;
    await delay(100);
  }
}

async function markIfLive(context: Context, id: string): Promise<void> {
  try {
    await markSession(context, id, "operator_destroy");
  } catch (error) {
    // It was destroyed in the meantime.
    if (!isAppError(error, "session_not_found")) throw error;
  }
}
