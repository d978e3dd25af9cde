import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { DAY, HOUR, MINUTE } from "../clock.ts";
import { baseUrlOf, ConfigError, describeConfig, describeDefault, readConfig, type Config } from "./config.ts";
import type { Variable } from "./variable.ts";
import { VARIABLES } from "./variables.ts";
import { loadMasterKeys } from "../secrets/master-key.ts";

const folder = mkdtempSync(join(tmpdir(), "berth-config-"));
afterAll(() => rmSync(folder, { recursive: true }));

const KEY = "ab".repeat(32);
const API_KEY = `berth_${KEY}`;

test("the defaults run on a laptop", () => {
  const { config, warnings } = readConfig({});
  expect(warnings).toEqual([]);
  expect(config).toMatchObject({ host: "127.0.0.1", port: 8080, driver: "auto", poolSize: 2, launchTtlMs: 5 * MINUTE, pausedMs: 30 * DAY });
  expect(baseUrlOf(config)).toBe("http://localhost:8080");
  expect(baseUrlOf(config, 4711)).toBe("http://localhost:4711");
  expect(baseUrlOf({ ...config, host: "::1" })).toBe("http://[::1]:8080");
  expect(config.dataDir).toBe(join(process.cwd(), ".berth"));
  expect(Object.isFrozen(config)).toBe(true);
});

// Name, text, field, parsed value.
const valid: [string, string, keyof Config, unknown][] = [
  ["BERTH_HOST", "::", "host", "::"],
  ["BERTH_PORT", "0", "port", 0],
  ["PORT", "9000", "port", 9000],
  ["BERTH_PORT", " 9001 ", "port", 9001],
  ["BERTH_BASE_URL", "https://berth.example.com/", "baseUrl", "https://berth.example.com"],
  ["BERTH_DATA_DIR", "/var/lib/berth", "dataDir", "/var/lib/berth"],
  ["BERTH_DRIVER", "oci", "driver", "oci"],
  ["BERTH_API_KEY", API_KEY, "apiKey", API_KEY],
  ["BERTH_LAUNCH_TTL", "90", "launchTtlMs", 90_000],
  ["BERTH_LAUNCH_TTL", "90s", "launchTtlMs", 90_000],
  ["BERTH_LAUNCH_TTL", "1.5h", "launchTtlMs", 1.5 * HOUR],
  ["BERTH_HIBERNATE_AFTER", "0", "hibernateAfterMs", 0],
  ["BERTH_HIBERNATE_AFTER", "250ms", "hibernateAfterMs", 250],
  ["BERTH_TOMBSTONE_DAYS", "0.5", "tombstoneMs", 12 * HOUR],
  ["BERTH_TIMEOUT_ACTION", "destroy", "timeoutAction", "destroy"],
  ["BERTH_ALLOW_UNISOLATED", "1", "allowUnisolated", true],
  ["BERTH_WEBHOOK_ALLOW_PRIVATE", "off", "webhookAllowPrivate", false],
  ["BERTH_EGRESS_ALLOW", "10.1.0.0/16, git.internal:22", "egressAllow", ["10.1.0.0/16", "git.internal:22"]],
  ["BERTH_EGRESS_ALLOW", "fd00::/8,[fd00::1]:443,::1", "egressAllow", ["fd00::/8", "[fd00::1]:443", "::1"]],
  ["BERTH_PREVIEW_DOMAIN", "Preview.Example.net", "previewDomain", "preview.example.net"],
  ["BERTH_PREVIEW_SHARE_HOURS", "8", "maxShareHours", 8],
  ["BERTH_POOL_SIZE", "", "poolSize", 2],
  ["OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318/", "otlpEndpoint", "http://collector:4318"],
  ["OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20b, x-tenant = one=1", "otlpHeaders", { "api-key": "a b", "x-tenant": "one=1" }],
  ["OTEL_TRACES_SAMPLER_ARG", "0.25", "tracesSamplerRatio", 0.25],
];
test.each(valid)("%s=%s is accepted", (name, text, field, value) => {
  expect(readConfig({ [name]: text }).config[field]).toEqual(value);
});

test("BERTH_PORT takes precedence over PORT", () => {
  expect(readConfig({ BERTH_PORT: "1", PORT: "2" }).config.port).toBe(1);
});

// Name, text, a part of the message.
const invalid: [string, string, string][] = [
  ["BERTH_HOST", "not a host", "host name"],
  ["BERTH_PORT", "65536", "0 to 65535"],
  ["BERTH_PORT", "80a", "whole number"],
  ["BERTH_PORT", "-1", "whole number"],
  ["PORT", "http", "whole number"],
  ["BERTH_BASE_URL", "berth.example.com", "http:// or https://"],
  ["BERTH_BASE_URL", "https://berth.example.com/path", "without a path"],
  ["BERTH_BASE_URL", "https://me:secret@berth.example.com", "without a path"],
  ["BERTH_DRIVER", "podman", "one of auto, oci, docker, kubernetes, process"],
  ["BERTH_ALLOW_UNISOLATED", "maybe", "1, true"],
  ["BERTH_POOL_SIZE", "1.5", "whole number"],
  ["BERTH_POOL_SIZE", "1001", "0 to 1000"],
  ["BERTH_MAX_SANDBOXES", "0", "1 to"],
  ["BERTH_LAUNCH_TTL", "5 minutes", "such as 90s"],
  ["BERTH_LAUNCH_TTL", "300000", "to 1d"],
  ["BERTH_LAUNCH_TTL", "0", "from 1s"],
  ["BERTH_HIBERNATE_AFTER", "-5m", "such as 90s"],
  ["BERTH_TIMEOUT_ACTION", "kill", "one of pause, destroy"],
  ["BERTH_PAUSED_DAYS", "30d", "number of days"],
  ["BERTH_PAUSED_DAYS", "0", "0 is refused"],
  ["BERTH_PAUSED_DAYS", "0.0001", "from 0.01"],
  ["BERTH_SNAPSHOT_DAYS", "0", "0 is refused"],
  ["BERTH_TOMBSTONE_DAYS", "0", "0 is refused"],
  ["BERTH_TOMBSTONE_DAYS", "4000", "0.01 to 3650"],
  ["BERTH_RATE_LIMIT", "lots", "whole number"],
  ["BERTH_PREVIEW_DOMAIN", "https://preview.example.net", "domain name"],
  ["BERTH_TRUSTED_PROXIES", "proxy.internal", "an address or a network"],
  ["BERTH_EGRESS_ALLOW", ", ,", "a list separated by commas"],
  ["BERTH_EGRESS_ALLOW", "10.0.0.1 10.0.0.2", "an address or a network"],
  ["BERTH_EGRESS_ALLOW", "git.internal:99999", "optional :port"],
  ["BERTH_EGRESS_ALLOW", "http://git.internal", "a host name"],
  ["BERTH_WEBHOOK_ALLOW_PRIVATE", "2", "1, true"],
  ["BERTH_LOG_LEVEL", "verbose", "one of debug"],
  ["BERTH_MODEL_PROVIDER", "own", "one of anthropic, openai"],
  ["BERTH_MODEL_BASE_URL", "api.example.com", "http:// or https://"],
  ["BERTH_MODEL_TOKEN_CAP", "1e6", "whole number"],
  ["OTEL_EXPORTER_OTLP_ENDPOINT", "http://me:secret@collector", "without a user name"],
  ["OTEL_TRACES_SAMPLER", "jaeger_remote", "one of parentbased_always_on"],
  ["OTEL_TRACES_SAMPLER_ARG", "1.5", "from 0 to 1"],
  ["OTEL_RESOURCE_ATTRIBUTES", "production", "name=value"],
];
test.each(invalid)("%s=%s is refused with a sentence", (name, text, allowed) => {
  const [fault, ...others] = faultsOf({ [name]: text });
  expect(others).toEqual([]);
  expect(fault).toMatch(new RegExp(`^${name} is ${escapeRegExp(JSON.stringify(text))}; allowed: .*${escapeRegExp(allowed)}.*\\.$`));
});

const invalidSecrets: [string, string, string][] = [
  ["BERTH_API_KEY", "berth_short-and-secret", "64 lowercase hexadecimal"],
  ["BERTH_API_KEY", API_KEY.toUpperCase(), "64 lowercase hexadecimal"],
  ["BERTH_MASTER_KEY", "not-hexadecimal-secret", "openssl rand -hex 32"],
  ["BERTH_MASTER_KEY", `${KEY},short-secret`, "openssl rand -hex 32"],
  ["BERTH_DATABASE_URL", "mysql://user:secret@host/berth", "postgres://"],
  ["BERTH_METRICS_TOKEN", "secret", "at least 16 characters"],
  ["OTEL_EXPORTER_OTLP_HEADERS", "api-key=secret%0d%0ax-injected: 1", "name=value"],
  ["OTEL_EXPORTER_OTLP_HEADERS", "api-key=secret%zz", "name=value"],
];
test.each(invalidSecrets)("an invalid %s is named but not shown", (name, text, allowed) => {
  const [fault, ...others] = faultsOf({ [name]: text });
  expect(others).toEqual([]);
  expect(fault).toContain(`${name} has a value of ${text.length} characters that is not allowed; allowed: `);
  expect(fault).toContain(allowed);
  expect(fault?.toLowerCase()).not.toContain("secret");
});

test("all invalid settings are reported at once", () => {
  expect(faultsOf({ BERTH_PORT: "x", BERTH_DRIVER: "y", BERTH_API_KEY: "z" })).toHaveLength(3);
});

test("PostgreSQL requires a configured master key", () => {
  const url = "postgres://berth:secret@db/berth";
  expect(faultsOf({ BERTH_DATABASE_URL: url })).toEqual([expect.stringContaining("BERTH_MASTER_KEY is not set. PostgreSQL requires it")]);
  expect(readConfig({ BERTH_DATABASE_URL: url, BERTH_MASTER_KEY: KEY }).config.databaseUrl).toBe(url);
});

test("an identity provider needs a client, and who may sign in", () => {
  const issuer = { BERTH_CONSOLE_OIDC_ISSUER: "https://login.example.com" };
  expect(faultsOf(issuer)).toEqual([expect.stringContaining("BERTH_CONSOLE_OIDC_ALLOW")]);
  const all = {
    ...issuer,
    BERTH_CONSOLE_OIDC_CLIENT_ID: "berth",
    BERTH_CONSOLE_OIDC_ALLOW: "ada@example.com, @ops.example.com,groups=a b",
  };
  expect(readConfig(all).config.oidcAllow).toEqual(["ada@example.com", "@ops.example.com", "groups=a b"]);
  for (const wrong of ["http://login.example.com", "login.example.com"])
    expect(faultsOf({ ...all, BERTH_CONSOLE_OIDC_ISSUER: wrong })).toEqual([expect.stringContaining("https:// address")]);
  expect(faultsOf({ ...all, BERTH_CONSOLE_OIDC_ALLOW: "everyone" })).toEqual([expect.stringContaining("an e-mail address, @domain")]);
});

test("a preview domain on the host of the base URL is refused", () => {
  const env = { BERTH_BASE_URL: "https://berth.example.com", BERTH_PREVIEW_DOMAIN: "berth.example.com" };
  expect(faultsOf(env)).toEqual([expect.stringContaining("another site")]);
});

test("a secret can come from a file", () => {
  const file = join(folder, "key");
  writeFileSync(file, `${API_KEY}\n`);
  expect(readConfig({ BERTH_API_KEY_FILE: file }).config.apiKey).toBe(API_KEY);
  expect(faultsOf({ BERTH_API_KEY_FILE: join(folder, "absent") })).toEqual([expect.stringContaining("cannot be read (ENOENT)")]);
});

test("an unknown variable causes a warning that suggests the closest name", () => {
  expect(readConfig({ BERTH_DRIVR: "oci", BERTH_SOMETHING: "1", OTHER: "1" }).warnings).toEqual([
    "BERTH_DRIVR is not a Berth setting and is ignored; did you mean BERTH_DRIVER?",
    "BERTH_SOMETHING is not a Berth setting and is ignored.",
  ]);
  for (const [wrong, right] of [
    ["BERTH_PORTS", "BERTH_PORT"],
    ["BERTH_DATABASE", "BERTH_DATABASE_URL"],
    ["BERTH_MODEL_KEY", "BERTH_MODEL_API_KEY"],
    ["BERTH_MODEL_NAMES", "BERTH_MODEL_NAME"],
  ] as const)
    expect(readConfig({ [wrong]: "1" }).warnings).toEqual([`${wrong} is not a Berth setting and is ignored; did you mean ${right}?`]);
});

test("listening for other machines without a base URL causes a warning", () => {
  expect(readConfig({ BERTH_HOST: "0.0.0.0" }).warnings).toEqual([
    expect.stringContaining("BERTH_BASE_URL is not set, so links point to http://localhost:8080"),
  ]);
  expect(readConfig({ BERTH_HOST: "0.0.0.0", BERTH_BASE_URL: "https://berth.example.com" }).warnings).toEqual([]);
});

test("a preview domain below the base URL causes a warning", () => {
  const env = { BERTH_BASE_URL: "https://berth.example.com", BERTH_PREVIEW_DOMAIN: "preview.berth.example.com" };
  expect(readConfig(env).warnings).toEqual([expect.stringContaining("belong to the same site")]);
  expect(readConfig({ ...env, BERTH_PREVIEW_DOMAIN: "berth-preview.example" }).warnings).toEqual([]);
});

test("the printed configuration shows no secret", () => {
  const env = {
    BERTH_API_KEY: API_KEY,
    BERTH_MASTER_KEY: KEY,
    BERTH_DATABASE_URL: "postgres://u:secret@db/berth",
    BERTH_LAUNCH_TTL: "90",
    BERTH_MODEL_API_KEY: "secret",
  };
  const shown = describeConfig(readConfig(env).config);
  expect(shown).toMatchObject({ BERTH_API_KEY: "set (hidden)", BERTH_MASTER_KEY: "set (hidden)", BERTH_LAUNCH_TTL: "90s" });
  expect(JSON.stringify(shown)).not.toMatch(/secret|abab/);
  expect(Object.keys(describeConfig(readConfig({}).config, { all: true }))).toHaveLength(Object.keys(VARIABLES).length);
});

test("every variable has a BERTH_ name, a sentence and a described default", () => {
  for (const [field, variable] of Object.entries(VARIABLES)) {
    expect(variable.name).toMatch(/^(BERTH|OTEL)_[A-Z_]+$/);
    expect(variable.help).toMatch(/\.$/);
    expect(describeDefault(field as keyof Config)).not.toBe("not set");
  }
});

test("every setting that is a number says what 0 means", () => {
  const isNumber = ({ kind }: Variable<unknown>) => typeof kind.parse("1") === "number";
  const numbers = (Object.values(VARIABLES) as Variable<unknown>[]).filter(isNumber);
  expect(numbers.length).toBeGreaterThan(20);
  expect(numbers.filter(({ help }) => !help.includes("`0`")).map(({ name }) => name)).toEqual([]);
  const refused = numbers.filter(({ help }) => help.includes("`0` is refused")).map(({ name }) => name);
  expect(numbers.filter(({ kind }) => kind.parse("0") === undefined).map(({ name }) => name)).toEqual(refused);
});

test("docs/configuration.md describes every variable", () => {
  const guide = readFileSync(join(import.meta.dirname, "../../docs/configuration.md"), "utf8");
  const wanted = Object.entries(VARIABLES).map(
    ([field, { name, help }]) => `| \`${name}\` | ${describeDefault(field as keyof Config)} | ${help} |`,
  );
  const found = guide.split("\n").filter((line) => /^\| `(BERTH|OTEL)_[A-Z_]+` \|/.test(line));
  expect(found).toEqual(wanted);
});

test("a collector's key is not shown, and a protocol that Berth does not send is a warning", () => {
  const { config, warnings } = readConfig({
    OTEL_EXPORTER_OTLP_ENDPOINT: "https://collector.example/path-secret",
    OTEL_EXPORTER_OTLP_HEADERS: "api-key=header-secret",
    OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
  });
  expect(warnings).toEqual([expect.stringContaining("sends http/protobuf")]);
  expect(describeConfig(config)).toMatchObject({
    OTEL_EXPORTER_OTLP_ENDPOINT: "https://collector.example",
    OTEL_EXPORTER_OTLP_HEADERS: "set (hidden)",
  });
});

test("servers that start at once generate one master key, readable by its owner only", async () => {
  const dataDir = join(folder, "data");
  const loaded = await Promise.all([1, 2, 3, 4].map(() => loadMasterKeys({ masterKeys: null, dataDir }, { isNewStore: true })));
  expect(new Set(loaded.map((keys) => keys[0]?.toString("hex"))).size).toBe(1);
  expect(statSync(join(dataDir, "master-key")).mode & 0o777).toBe(0o600);
  expect(statSync(dataDir).mode & 0o777).toBe(0o700);
  expect(readFileSync(join(dataDir, "master-key"), "utf8")).toMatch(/^[0-9a-f]{64}\n$/);
});

test("configured master keys keep their order, and none is generated", async () => {
  const { config } = readConfig({ BERTH_MASTER_KEY: `${"cd".repeat(32)},${KEY}`, BERTH_DATA_DIR: join(folder, "unused") });
  const keys = await loadMasterKeys(config, { isNewStore: false });
  expect(keys.map((key) => key.toString("hex"))).toEqual(["cd".repeat(32), KEY]);
});

test("a damaged master key prevents the start and is not replaced", async () => {
  writeFileSync(join(folder, "master-key"), "damaged");
  await expect(loadMasterKeys({ masterKeys: null, dataDir: folder }, { isNewStore: true })).rejects.toThrow("Restore it from a backup");
});

test("a missing master key of a store that is in use is an error and is not replaced", async () => {
  const dataDir = join(folder, "lost-key");
  await expect(loadMasterKeys({ masterKeys: null, dataDir }, { isNewStore: false })).rejects.toThrow(/master-key is missing.*Restore/);
  expect(existsSync(join(dataDir, "master-key"))).toBe(false);
});

function faultsOf(env: Record<string, string>): readonly string[] {
  try {
    readConfig(env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
}

const escapeRegExp = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
