import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { isLoopbackHost, isLoopbackUrl } from "../network/loopback.ts";
import type { Variable } from "./variable.ts";
import { VARIABLES } from "./variables.ts";

// The whole configuration, read once at start.
export type Config = Readonly<{ [Field in keyof typeof VARIABLES]: (typeof VARIABLES)[Field] extends Variable<infer T> ? T : never }>;

// Carries every invalid setting, one sentence each.
export class ConfigError extends Error {
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(faults.join("\n"));
    this.name = "ConfigError";
    this.faults = faults;
  }
}

export interface ReadConfig {
  config: Config;
  // Sentences about settings that are probably mistakes but do not prevent a start.
  warnings: string[];
}

export function readConfig(env: Record<string, string | undefined> = process.env): ReadConfig {
  const faults: string[] = [];
  const read = Object.entries(VARIABLES).map(([field, variable]) => [field, readVariable(variable as Variable<unknown>, env, faults)]);
  const config = Object.fromEntries(read) as { -readonly [Field in keyof Config]: Config[Field] };
  if (faults.length === 0) checkTogether(config, faults);
  if (faults.length > 0) throw new ConfigError(faults);
  config.dataDir = resolve(config.dataDir);
  return { config: Object.freeze(config), warnings: [...unknownVariables(env), ...suspiciousSettings(config)] };
}

// The public address of the service. Pass the port that the server listens on: the configured one may be 0.
// `localhost` is 127.0.0.1 first on many machines, where a server on ::1 does not listen.
export const baseUrlOf = (config: Config, port = config.port) =>
  config.baseUrl ?? `http://${config.host === "::1" ? "[::1]" : "localhost"}:${port}`;

// Whether only this machine can reach the server.
export const isForThisMachine = (config: Pick<Config, "host">, baseUrl: string): boolean =>
  isLoopbackHost(config.host) && isLoopbackUrl(baseUrl);

// Previews need subdomains. Without a configured domain they work on localhost, because browsers resolve *.localhost.
export function previewDomainOf(config: Pick<Config, "previewDomain">, baseUrl: string): string | null {
  if (config.previewDomain) return config.previewDomain;
  const { hostname, host } = new URL(baseUrl);
  return hostname === "localhost" ? host : null;
}

// The configuration for people, with secrets masked. Leaves out default values unless `all` is set.
export function describeConfig(config: Config, { all = false } = {}): Record<string, string> {
  const shown = Object.entries(VARIABLES as Record<string, Variable<unknown>>)
    .map(([field, variable]) => ({ variable, value: config[field as keyof Config] as unknown }))
    .filter(({ variable, value }) => all || value !== variable.default)
    .map(({ variable, value }) => [variable.name, show(variable, value)]);
  return Object.fromEntries(shown) as Record<string, string>;
}

// The default as docs/configuration.md shows it.
export function describeDefault(field: keyof Config): string {
  const variable = VARIABLES[field] as Variable<unknown>;
  return variable.defaultHelp ?? show(variable, variable.default);
}

function readVariable<T>(variable: Variable<T>, env: Record<string, string | undefined>, faults: string[]): T {
  const found = lookUp(variable, env, faults);
  if (!found) return variable.default;
  const value = variable.kind.parse(found.text);
  if (value === undefined) {
    const seen = variable.secret
      ? `has a value of ${found.text.length} characters that is not allowed`
      : `is ${JSON.stringify(found.text)}`;
    faults.push(`${found.name} ${seen}; allowed: ${variable.kind.allowed}.`);
  }
  return value ?? variable.default;
}

// Compose files and Helm charts pass unset values as empty variables, so an empty variable counts as unset.
function lookUp(variable: Variable<unknown>, env: Record<string, string | undefined>, faults: string[]) {
  for (const name of [variable.name, ...(variable.alias ? [variable.alias] : [])]) {
    const text = env[name]?.trim();
    if (text) return { name, text };
  }
  const fileName = `${variable.name}_FILE`;
  const file = variable.secret ? env[fileName]?.trim() : undefined;
  if (!file) return undefined;
  try {
    return { name: fileName, text: readFileSync(file, "utf8").trim() };
  } catch (error) {
    faults.push(
      `${fileName} is ${JSON.stringify(file)}, which cannot be read (${(error as NodeJS.ErrnoException).code}); allowed: a readable file that contains the value.`,
    );
    return undefined;
  }
}

function checkTogether(config: Config, faults: string[]): void {
  if (config.databaseUrl && !config.masterKeys)
    faults.push(
      "BERTH_MASTER_KEY is not set. PostgreSQL requires it, because all servers must use the same key. Generate one with: openssl rand -hex 32.",
    );
  if (config.oidcIssuer !== null && (config.oidcClientId === null || config.oidcAllow.length === 0))
    faults.push(
      "BERTH_CONSOLE_OIDC_ISSUER needs BERTH_CONSOLE_OIDC_CLIENT_ID, and BERTH_CONSOLE_OIDC_ALLOW, which says who may sign in to the console.",
    );
  if (
    config.previewDomain &&
    config.baseUrl &&
    config.previewDomain === new URL(config.baseUrl).host &&
    !config.previewDomain.startsWith("localhost")
  )
    faults.push(
      `BERTH_PREVIEW_DOMAIN is "${config.previewDomain}", the host of BERTH_BASE_URL; allowed: another site, because previews run untrusted code.`,
    );
}

function suspiciousSettings(config: Config): string[] {
  const warnings: string[] = [];
  if (!config.baseUrl && !isLoopbackHost(config.host))
    warnings.push(
      `BERTH_BASE_URL is not set, so links point to ${baseUrlOf(config)}. Set it to the address that partners and browsers use.`,
    );
  if (config.baseUrl && config.previewDomain && isSubdomain(config.previewDomain, new URL(config.baseUrl).host))
    warnings.push(
      "BERTH_PREVIEW_DOMAIN and BERTH_BASE_URL belong to the same site, so previews can set cookies for the app. Use another domain.",
    );
  if ((config.otlpEndpoint ?? config.otlpTracesEndpoint) !== null && config.otlpProtocol === "grpc")
    warnings.push(
      "OTEL_EXPORTER_OTLP_PROTOCOL is grpc, which Berth does not speak, so it sends http/protobuf. Use the collector's HTTP port, usually 4318, and not 4317.",
    );
  return warnings;
}

const isSubdomain = (one: string, other: string) =>
  !one.startsWith("localhost") && (one.endsWith(`.${other}`) || other.endsWith(`.${one}`));

const PREFIX = "BERTH_";

function unknownVariables(env: Record<string, string | undefined>): string[] {
  const known = Object.values(VARIABLES as Record<string, Variable<unknown>>).flatMap((v) =>
    v.secret ? [v.name, `${v.name}_FILE`] : [v.name],
  );
  return Object.keys(env)
    .filter((name) => name.startsWith(PREFIX) && !known.includes(name))
    .map((name) => {
      const near = nearest(name, known);
      return `${name} is not a Berth setting and is ignored${near ? `; did you mean ${near}?` : "."}`;
    });
}

function show(variable: Variable<unknown>, value: unknown): string {
  if (value === null) return "not set";
  if (variable.secret) return "set (hidden)";
  if (variable.kind.show) return variable.kind.show(value);
  if (Array.isArray(value)) return value.join(",");
  return typeof value === "string" ? value : JSON.stringify(value);
}

// The name with the fewest differences, unless half of the text after the prefix differs.
function nearest(name: string, known: readonly string[]): string | undefined {
  const [best] = known
    .map((candidate) => ({ candidate, distance: editDistance(candidate, name) }))
    .toSorted((a, b) => a.distance - b.distance);
  return best && best.distance <= Math.max(4, (name.length - PREFIX.length) / 2) ? best.candidate : undefined;
}

// The number of letters to add or remove. A replaced letter counts twice, so that BERTH_MODEL_KEY, which lacks a word, is nearer to
// BERTH_MODEL_API_KEY than to BERTH_MASTER_KEY.
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) next[j] = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 2));
    row = next;
  }
  return row[b.length]!;
}
