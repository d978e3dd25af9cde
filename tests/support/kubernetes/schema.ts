import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as models from "@kubernetes/client-node";

// Checks an object against the API's description, offline. The models of the client library are generated from that
// description: they hold the type of every field, and their declarations say which fields are required.
export function faultsOf(object: { kind?: string; apiVersion?: string }): string[] {
  const version = object.apiVersion?.split("/").at(-1) ?? "";
  const model = `${version[0]?.toUpperCase()}${version.slice(1)}${object.kind}`;
  if (!modelOf(model)) return [`${object.apiVersion} ${object.kind} is not a kind that the API knows`];
  return check(object, model, `${object.kind}`);
}

interface Attribute {
  baseName: string;
  type: string;
}

function check(value: unknown, type: string, at: string): string[] {
  const list = /^Array<(.*)>$/.exec(type)?.[1];
  if (list !== undefined)
    return Array.isArray(value) ? value.flatMap((item, i) => check(item, list, `${at}[${i}]`)) : [`${at} must be a list`];
  const map = /^\{ \[key: string\]: (.*); \}$/.exec(type)?.[1];
  if (map !== undefined)
    return isObject(value) ? Object.entries(value).flatMap(([key, item]) => check(item, map, `${at}.${key}`)) : [`${at} must be a mapping`];
  const attributes = modelOf(type);
  if (attributes) return checkFields(value, type, attributes, at);
  return isPlain(value, type) ? [] : [`${at} must be ${type}, not ${JSON.stringify(value)}`];
}

function checkFields(value: unknown, type: string, attributes: Attribute[], at: string): string[] {
  if (!isObject(value)) return [`${at} must be an object`];
  const known = new Map(attributes.map(({ baseName, type: field }) => [baseName, field]));
  const missing = requiredOf(type).filter((name) => value[name] === undefined);
  return [
    ...missing.map((name) => `${at}.${name} is missing`),
    ...Object.entries(value).flatMap(([name, field]) => {
      const expected = known.get(name);
      return expected === undefined ? [`${at}.${name} is not a field`] : check(field, expected, `${at}.${name}`);
    }),
  ];
}

function isPlain(value: unknown, type: string): boolean {
  if (type === "IntOrString") return typeof value === "number" || typeof value === "string";
  if (type === "Date" || type === "V1MicroTime") return typeof value === "string";
  if (type === "any" || type === "object") return true;
  return typeof value === type;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

function modelOf(name: string): Attribute[] | undefined {
  const model = (models as unknown as Record<string, { getAttributeTypeMap?: () => Attribute[] } | undefined>)[name];
  return model?.getAttributeTypeMap?.();
}

const folder = join(dirname(fileURLToPath(import.meta.resolve("@kubernetes/client-node"))), "gen/models");

function requiredOf(model: string): string[] {
  const declaration = readFileSync(join(folder, `${model}.d.ts`), "utf8");
  return [...declaration.matchAll(/^ {4}'(\w+)': /gm)].map((match) => match[1]!);
}
