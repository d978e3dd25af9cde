export interface ModelUsageTable {
  session_id: string;
  partner_id: string;
  external_user_id: string;
  requests: number;
  input_tokens: number;
  output_tokens: number;
  updated_at: number;
}

export interface ModelReservationsTable {
  id: string;
  session_id: string;
  partner_id: string;
  external_user_id: string;
  template: string;
  output_tokens: number;
  added_at: number;
  expires_at: number;
}

// The usage of a session on a day (UTC, by its first millisecond). The time since `sessions.counted_from` is not in it yet.
export interface UsageDaysTable {
  day: number;
  partner_id: string;
  session_id: string;
  external_user_id: string;
  template: string;
  running_ms: number;
  paused_ms: number;
  hibernated_ms: number;
  cpu_ms: number;
  memory_peak: number;
  // The mean is the sum divided by the number of samples.
  memory_sum: number;
  memory_samples: number;
  disk_peak: number;
  disk_sum: number;
  disk_samples: number;
  // Bytes to the outside and back.
  egress_bytes: number;
  ingress_bytes: number;
  input_tokens: number;
  output_tokens: number;
}

// The processor time of a sandbox since its start, as far as it is in `usage_days`.
export interface UsageCountersTable {
  session_id: string;
  cpu_ms: number;
  sampled_at: number;
}
