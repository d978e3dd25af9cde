import { KEY_PATTERN } from "../../api-key-format.ts";
import { anyText, list, matching, network, oneOf, origin, postgresUrl, secretKey, wholeNumber } from "../kinds.ts";
import { variable } from "../variable.ts";

export const SERVER_VARIABLES = {
  host: variable({
    name: "BERTH_HOST",
    kind: matching(/^[\w.:-]+$/, "a host name or an IP address"),
    default: "127.0.0.1",
    help: "Address to listen on. Use `0.0.0.0` to accept connections from other machines.",
  }),
  port: variable({
    name: "BERTH_PORT",
    alias: "PORT",
    kind: wholeNumber(0, 65_535),
    default: 8080,
    help: "Port to listen on. `0` picks a free port. `PORT` is read if `BERTH_PORT` is not set.",
  }),
  baseUrl: variable<string | null>({
    name: "BERTH_BASE_URL",
    kind: origin,
    default: null,
    defaultHelp: "http://localhost:{port}",
    help: "Public address of the service, as partners and browsers reach it. Launch URLs start with it.",
  }),
  trustedProxies: variable<readonly string[]>({
    name: "BERTH_TRUSTED_PROXIES",
    kind: list(network),
    default: [],
    defaultHelp: "none",
    help: "Addresses or networks of your reverse proxies, separated by commas, such as `127.0.0.1` or `10.0.0.0/8`. Only from them is `X-Forwarded-For` believed. Sign-in limits, the audit log and the list of who opened a session then have the address of the caller instead of the proxy's.",
  }),
  dataDir: variable({
    name: "BERTH_DATA_DIR",
    kind: anyText,
    default: "./.berth",
    help: "Folder for the SQLite database, the master key and the files of sandboxes.",
  }),
  databaseUrl: variable<string | null>({
    name: "BERTH_DATABASE_URL",
    kind: postgresUrl,
    default: null,
    defaultHelp: "SQLite in the data folder",
    secret: true,
    help: "PostgreSQL connection URL. Required when several servers run as one installation, which needs Kubernetes.",
  }),
  masterKeys: variable<readonly Buffer[] | null>({
    name: "BERTH_MASTER_KEY",
    kind: list(secretKey),
    default: null,
    defaultHelp: "generated in the data folder",
    secret: true,
    help: "Key that encrypts stored secrets and signs launch URLs. To rotate it, list several keys separated by commas, newest first: the first encrypts and signs, the others still decrypt and verify. Required with PostgreSQL.",
  }),
  apiKey: variable<string | null>({
    name: "BERTH_API_KEY",
    kind: matching(KEY_PATTERN, "`berth_` followed by 64 lowercase hexadecimal characters"),
    default: null,
    defaultHelp: "generated at the first start",
    secret: true,
    help: "API key of the built-in partner `demo`.",
  }),
  ratePerMinute: variable({
    name: "BERTH_RATE_LIMIT",
    kind: wholeNumber(0, 10_000_000),
    default: 6000,
    help: "API requests per minute for each API key. `0` means no limit. `berth partner` can set another limit for one partner.",
  }),
  facades: variable<"auto" | "e2b" | "none">({
    name: "BERTH_FACADES",
    kind: oneOf("auto", "e2b", "none"),
    default: "auto",
    help: "Other products' APIs that the server speaks too: `e2b`, so that programs with E2B's SDKs work without a change (docs/e2b.md), or `none`. `auto` is `e2b` if only this machine can reach the server.",
  }),
  metricsToken: variable<string | null>({
    name: "BERTH_METRICS_TOKEN",
    kind: matching(/^\S{16,}$/, "at least 16 characters without spaces"),
    default: null,
    defaultHelp: "/metrics answers this machine only, and is closed when the base URL is public",
    secret: true,
    help: "Bearer token for /metrics. With a token, other machines can read the metrics.",
  }),
  logLevel: variable({
    name: "BERTH_LOG_LEVEL",
    kind: oneOf("debug", "info", "warn", "error", "silent"),
    default: "info",
    help: "Lowest level of events that are logged.",
  }),
};
