import type { SessionId, TokenId } from "@berth/contract";

export interface SessionTokensTable {
  id: TokenId;
  partner_id: string;
  session_id: SessionId;
  name: string;
  // JSON array of TokenScope.
  scopes: string;
  // JSON array of the only ports; null for all.
  ports: string | null;
  created_at: number;
  expires_at: number;
  revoked_at: number | null;
}
