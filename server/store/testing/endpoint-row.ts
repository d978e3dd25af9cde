import type { EndpointRow } from "../webhooks/endpoints.ts";

// An enabled webhook endpoint for all events.
export const endpointRow = (id: string, partnerId: string, nowMs: number): EndpointRow => ({
  id,
  partner_id: partnerId,
  url: "https://receiver.example/",
  description: "",
  types: null,
  state: "enabled",
  disabled_reason: null,
  secret: "",
  old_secret: null,
  old_secret_until: null,
  cursor_seq: 0,
  failing_since: null,
  created_at: nowMs,
  updated_at: nowMs,
});
