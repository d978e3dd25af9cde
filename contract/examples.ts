// One typical body for each schema that has a name, for the description and its readers.
const sessionId = "ses_01kan2v8r04m7t2x5c6b9d0fgh";
const sandboxId = "sbx_01kan2v8r01n6r8w3y5a7c9efj";
const sandboxUrl = `https://berth.example/sandboxes/${sandboxId}`;

const session = { sessionId, sandboxId, status: "running", sandboxUrl, createdAt: "2030-01-31T09:30:00.000Z" };

export const EXAMPLES: Record<string, unknown> = {
  CreateSession: {
    externalUserId: "user-42",
    envVars: { NODE_ENV: "development" },
    timeoutMs: 3_600_000,
    autoStartAgent: true,
    metadata: { plan: "pro" },
  },
  Session: session,
  SessionRead: session,
  SessionList: { data: [session], nextCursor: null },
  UpdateSession: { timeoutMs: 7_200_000, metadata: { plan: "team" } },
  ResumeSession: { autoStartAgent: true },
  ResumedSession: { status: "running", sandboxId, sandboxUrl },
  Status: { status: "paused" },
  LaunchUrl: {
    url: "https://berth.example/workspace/?s=c2J4XzAxa2Fu&partner=acme&ts=1896082200000&sig=3q2-7wWbHn0Zq1vTqJ8mXk5yQ0aR2cU4sE6gI8kM0oQ",
    expiresAt: 1_896_082_500_000,
  },
};
