// One typical body per named schema, for the OpenAPI description.
const sessionId = "ses_01kan2v8r04m7t2x5c6b9d0fgh";
const sandboxId = "sbx_01kan2v8r01n6r8w3y5a7c9efj";
const sandboxUrl = `https://berth.example/sandboxes/${sandboxId}`;

const session = { sessionId, sandboxId, status: "running", sandboxUrl, createdAt: "2030-01-31T09:30:00.000Z" };

const eventId = "evt_01kan2v8r02p5s9v1x4z6b8dfh";
const event = {
  id: eventId,
  type: "session.paused",
  timestamp: "2030-01-31T10:30:00.000Z",
  data: { sessionId, sandboxId, externalUserId: "user-42", status: "paused", reason: "timeout", metadata: { plan: "pro" } },
};
const webhook = {
  id: "whk_01kan2v8r03q6t0w2y5a7c9egj",
  url: "https://partner.example/hooks/berth",
  types: null,
  description: "Production",
  enabled: true,
  disabledReason: null,
  createdAt: "2030-01-31T09:00:00.000Z",
};
const snapshot = {
  id: "snp_01kan2v8r07t9x3z5b8dafchkn",
  name: "before the upgrade",
  status: "ready",
  sessionId,
  template: "default",
  bytes: 48_234_496,
  createdAt: "2030-01-31T09:40:00.000Z",
};
const sessionToken = {
  tokenId: "tok_01kan2v8r0aw1y5a7c9ecgfkmq",
  name: "reviewer",
  scopes: ["files", "ports"],
  ports: [3000],
  state: "active",
  createdAt: "2030-01-31T09:30:00.000Z",
  expiresAt: "2030-01-31T10:30:00.000Z",
  revokedAt: null,
};
const hostKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKq0MGgDJ6ESPyhkhVxgUKOSyZCHC0s9LsWJcFbFKyVq";
const tokenSsh = { url: `wss://berth.example/sandboxes/${sandboxId}/ssh`, hostKey };
const runId = "run_01kan2v8r08v0x4z6b9dbfdjmp";
const runSummary = {
  runId,
  sessionId,
  status: "succeeded",
  reason: null,
  code: null,
  message: null,
  conversationId: "conv_1",
  prompt: "Fix the failing test in src/cart.ts",
  mode: null,
  model: null,
  maxTurns: null,
  maxTokens: 200_000,
  timeoutMs: 1_800_000,
  turns: 6,
  tokens: { input: 48_210, output: 2114 },
  cost: null,
  fileCount: 1,
  waitingMessages: 0,
  createdAt: "2030-01-31T09:30:01.000Z",
  startedAt: "2030-01-31T09:30:02.000Z",
  endedAt: "2030-01-31T09:31:40.000Z",
};
const run = {
  ...runSummary,
  permissions: "allow",
  text: "The total was rounded twice. I fixed it, and all tests pass.",
  files: [{ path: "src/cart.ts", kind: "modified", linesAdded: 2, linesRemoved: 3 }],
  waitsFor: [],
};
const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const key = {
  id: "key_01kan2v8r06s8w2y4a7c9ebgjm",
  name: "Reporting",
  scope: "read",
  hint: "berth_3f9a…c41d",
  state: "active",
  createdAt: "2030-01-31T09:00:00.000Z",
  lastUsedAt: null,
  expiresAt: "2030-07-31T00:00:00.000Z",
  revokedAt: null,
};
const keySecret = { key: "berth_3f9a…c41d" };
const delivery = {
  id: "dlv_01kan2v8r05r7v1x3z6b8dafhk",
  eventId,
  type: "session.paused",
  state: "delivered",
  attempts: 1,
  lastStatus: 204,
  lastError: null,
  createdAt: "2030-01-31T10:30:00.010Z",
  finishedAt: "2030-01-31T10:30:00.120Z",
};

export const EXAMPLES: Record<string, unknown> = {
  EgressLog: {
    data: [
      {
        host: "registry.npmjs.org",
        port: 443,
        outcome: "allowed",
        rule: "*.npmjs.org",
        connections: 12,
        sentBytes: 40_312,
        receivedBytes: 8_120_554,
        firstAt: "2030-01-31T09:31:00.000Z",
        lastAt: "2030-01-31T09:31:20.000Z",
      },
    ],
  },
  UsageReport: {
    from: "2030-01-01",
    to: "2030-02-01",
    currency: "EUR",
    data: [
      {
        externalUserId: "user-42",
        runningSeconds: 5400.25,
        pausedSeconds: 600,
        hibernatedSeconds: 86_400,
        cpuSeconds: 812.4,
        memoryPeakBytes: 734_003_200,
        memoryMeanBytes: 402_653_184,
        diskPeakBytes: 268_435_456,
        diskMeanBytes: 201_326_592,
        egressBytes: 1_204_224,
        ingressBytes: 88_080_384,
        inputTokens: 182_044,
        outputTokens: 9120,
        estimatedCost: 0.1875,
      },
    ],
  },
  CreateSession: {
    externalUserId: "user-42",
    envVars: { NODE_ENV: "development" },
    timeoutMs: 3_600_000,
    autoStartAgent: true,
    metadata: { plan: "pro" },
  },
  CreatedSession: session,
  StartRun: {
    prompt: "Fix the failing test in src/cart.ts",
    permissions: [
      { tool: "edit", path: "src/**", allow: true },
      { tool: "shell", command: "npm test*", allow: true },
    ],
    maxTokens: 200_000,
    timeoutMs: 1_800_000,
  },
  RunStarted: { runId, status: "queued" },
  Run: run,
  RunList: { data: [runSummary], nextCursor: null },
  RunMessage: { prompt: "Add a test for the empty cart, too" },
  AnswerRun: { itemId: "item_7", optionId: "allow_once" },
  RunEvent: { type: "append", itemId: "item_2", text: "The test fails because " },
  SessionRead: session,
  SessionList: { data: [session], nextCursor: null },
  UpdateSession: { timeoutMs: 7_200_000, metadata: { plan: "team" } },
  ResumeSession: { autoStartAgent: true },
  ResumedSession: { status: "running", sandboxId, sandboxUrl },
  Status: { status: "paused" },
  IssueLaunchUrl: { role: "viewer", displayName: "Ada Lovelace" },
  LaunchUrl: {
    url: "https://berth.example/workspace/?s=c2J4XzAxa2Fu&partner=acme&ts=1896082200000&sig=3q2-7wWbHn0Zq1vTqJ8mXk5yQ0aR2cU4sE6gI8kM0oQ",
    expiresAt: 1_896_082_500_000,
    role: "viewer",
  },
  CreateSnapshot: { name: "before the upgrade" },
  Snapshot: snapshot,
  SnapshotList: { data: [snapshot], nextCursor: null },
  DeletedSnapshot: { id: snapshot.id, deleted: true },
  EventList: { data: [event], nextCursor: eventId },
  CreateKey: { name: key.name, scope: key.scope, expiresAt: key.expiresAt },
  RotateKey: { overlapMs: 3_600_000 },
  Key: key,
  KeyWithSecret: { ...key, ...keySecret },
  KeyList: { data: [key] },
  RotatedKey: { ...key, ...keySecret, previousKeyExpiresAt: "2030-01-31T10:00:00.000Z" },
  CreateSessionToken: { scopes: sessionToken.scopes, ports: sessionToken.ports, ttlMs: 3_600_000, name: sessionToken.name },
  SessionToken: sessionToken,
  SessionTokenWithSecret: {
    ...sessionToken,
    token: `berth_st_01kan2v8r0aw1y5a7c9ecgfkmq_${"x".repeat(43)}`,
    scopes: ["files", "ports", "ssh"],
    ssh: tokenSsh,
  },
  SessionTokenList: { data: [sessionToken] },
  IssuePreviewUrl: { port: 3000, ttlMs: 3_600_000 },
  PreviewUrl: {
    url: `https://3000-${sandboxId.replace("_", "-")}.preview.berth.example/.berth/open?kind=shared&partner=acme&expires=1896085800000&path=%2F&sig=${"x".repeat(43)}`,
    expiresAt: "2030-01-31T10:30:00.000Z",
  },
  CreateWebhook: { url: webhook.url, description: "Production" },
  UpdateWebhook: { enabled: true },
  Webhook: webhook,
  WebhookWithSecret: { ...webhook, secret },
  WebhookList: { data: [webhook] },
  RotatedSecret: { secret, previousSecretExpiresAt: "2030-02-01T10:30:00.000Z" },
  DeletedWebhook: { id: webhook.id, deleted: true },
  ExecRequest: { command: "npm test", cwd: "app", timeoutMs: 60_000 },
  ExecEvent: { type: "stdout", data: "3 tests passed\n" },
  FolderListing: { path: "", entries: [{ name: "app", type: "folder", size: 4096, modifiedAtMs: 1_896_082_200_000 }], truncated: false },
  WrittenFile: { path: "app/index.js", size: 120, modifiedAtMs: 1_896_082_200_000, etag: '"lx3k9-3c-1a2b"' },
  FilePath: { path: "app/src" },
  MoveRequest: { from: "app/old.js", to: "app/new.js" },
  FoundFiles: { paths: ["app/index.js"], truncated: false },
  SearchEvent: { type: "match", path: "app/index.js", line: 3, column: 7, length: 4, text: "const port = 3000;" },
  CreateTerminal: { cols: 120, rows: 30 },
  PortList: { ports: [{ port: 3000, program: "node" }] },
  AgentState: { status: "ready", name: "goose" },
  PromptRequest: { text: "Add a test for the parser", permissions: "allow" },
  AgentMessage: { type: "append", conversationId: "conv_1", itemId: "item_2", text: "I added " },
  Delivery: delivery,
  DeliveryList: { data: [delivery], nextCursor: null },
};
