// Launch URLs that were used, one row each.
export interface OpeningsTable {
  session_id: string;
  // Also in the cookie that the browser got, so that its later connections belong to this row.
  opened_at: number;
  address: string;
  // The browser and its system.
  agent: string;
  role: string | null;
  // null while a page of it is connected.
  ended_at: number | null;
  name: string | null;
}

// The hosts that a sandbox reached, or tried to.
export interface EgressHostsTable {
  session_id: string;
  outcome: "allowed" | "refused" | "unreachable";
  // `*` for all others, once there are too many.
  host: string;
  port: number;
  // Why it was allowed or refused.
  rule: string;
  connections: number;
  sent_bytes: number;
  received_bytes: number;
  first_at: number;
  last_at: number;
}
