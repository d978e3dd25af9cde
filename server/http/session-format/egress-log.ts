import type { EgressLog } from "@berth/contract";
import { egressHostsOf } from "../../store/session-logs/egress-hosts.ts";
import type { Db } from "../../store/schema.ts";

// The egress log of a session, which the caller has found among the partner's own.
export async function readEgressLog(db: Db, sessionId: string): Promise<EgressLog> {
  const hosts = await egressHostsOf(db, sessionId);
  return {
    data: hosts.map((host) => ({
      ...host,
      firstAt: new Date(host.firstAt).toISOString(),
      lastAt: new Date(host.lastAt).toISOString(),
    })),
  };
}
