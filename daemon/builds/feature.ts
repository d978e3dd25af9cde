import { parseJsonWithComments } from "../io/json-with-comments.ts";
import { recordOf, stringsOf, textOf } from "../io/json-values.ts";
import type { WantedFeature } from "./build-plan.ts";

// The part of a devcontainer-feature.json that a build uses.
export interface Feature {
  // As devcontainer.json, or a feature that depends on it, names it.
  id: string;
  // As it names itself.
  ownId: string;
  // The folder with its install.sh.
  folder: string;
  // The variables for install.sh.
  options: Record<string, string>;
  containerEnv: Record<string, string>;
  // Ids of features that come first if they are installed at all.
  installsAfter: string[];
  dependsOn: WantedFeature[];
  // Properties that do not apply here.
  unused: string[];
}

export const MAX_FEATURES = 50;
// All of them are arguments of one command, which the system limits.
const MAX_VALUES = 100;
const MAX_VALUE_CHARS = 32 * 1024;
const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;
const USED = new Set(
  "id version name description documentationURL licenseURL keywords legacyIds deprecated options containerEnv installsAfter dependsOn".split(
    " ",
  ),
);

export function parseFeature(text: string, { id, folder, options }: WantedFeature & { folder: string }): Feature {
  const parsed = parseJsonWithComments(text) as Record<string, unknown> | null;
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) throw new Error(`The feature ${id} is not an object.`);
  const defaults = Object.entries(recordOf(parsed.options)).map(([name, option]) => [name, textOf(recordOf(option).default)] as const);
  const known = Object.fromEntries(defaults.filter((pair) => pair[1] !== null)) as Record<string, string>;
  const named = toVariables({ ...known, ...options });
  const containerEnv = stringsOf(parsed.containerEnv);
  if (!isBounded(named) || !isBounded(containerEnv))
    throw new Error(
      `The feature ${id} has more than ${MAX_VALUES} options or variables, or more than ${MAX_VALUE_CHARS / 1024} KiB of them.`,
    );
  return {
    id,
    ownId: textOf(parsed.id) ?? id,
    folder,
    options: named,
    containerEnv,
    installsAfter: Array.isArray(parsed.installsAfter) ? parsed.installsAfter.filter((each) => typeof each === "string") : [],
    dependsOn: wantedFeatures(parsed.dependsOn),
    unused: Object.keys(parsed).filter((name) => !USED.has(name)),
  };
}

// Whether these may be arguments of a command.
export function isBounded(values: Record<string, string>): boolean {
  const entries = Object.entries(values);
  return entries.length <= MAX_VALUES && entries.flat().join("").length <= MAX_VALUE_CHARS;
}

// The features of a devcontainer.json or of a feature's dependsOn. A string is short for the option `version`.
export function wantedFeatures(value: unknown): (WantedFeature & { folder: null })[] {
  const entries = Object.entries(recordOf(value));
  if (entries.length > MAX_FEATURES) throw new Error(TOO_MANY);
  return entries.map(([id, options]) => ({
    id,
    folder: null,
    options: typeof options === "string" ? { version: options } : stringsOf(options),
  }));
}

export const TOO_MANY = `there are more than ${MAX_FEATURES} features`;

// `a-b` becomes A_B, as the specification says: other characters are underscores, and a name does not begin with digits.
export function toVariables(options: Record<string, string>): Record<string, string> {
  const named = Object.entries(options).map(([name, value]) => {
    const safe = name.replaceAll(/[^\w_]/g, "_").replace(/^[\d_]+/, "_");
    return [safe.toUpperCase(), value] as const;
  });
  return Object.fromEntries(named.filter(([name]) => NAME.test(name)));
}
