import fc from "fast-check";
import { anyText, jsonValue } from "./values.ts";

// Values for a JSON schema of the contract: mostly valid, often near its limits, and sometimes invalid.

interface Schema {
  type?: string;
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  patternProperties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  format?: string;
}

// Receivers that do not exist, because a case must not reach a real one.
const URLS = [
  "http://localhost:1/hook",
  "https://localhost:1/",
  "http://a.localhost:1/?x=%00",
  "ftp://localhost/",
  "https://user@localhost:1/",
];

export function valuesOf(schema: object): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 14, arbitrary: rightValues(schema as Schema) }, { weight: 1, arbitrary: jsonValue });
}

function rightValues(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(valuesOf));
  switch (schema.type) {
    case "object":
      return objects(schema);
    case "array":
      return fc.array(valuesOf(schema.items ?? {}), { maxLength: 4 });
    case "string":
      return strings(schema);
    case "integer":
    case "number":
      return numbers(schema);
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    default:
      return jsonValue;
  }
}

function objects({ properties, patternProperties, required = [] }: Schema): fc.Arbitrary<unknown> {
  const [values] = Object.values(patternProperties ?? {});
  if (values) return fc.dictionary(anyText, valuesOf(values), { maxKeys: 4 });
  const fields = Object.fromEntries(Object.entries(properties ?? {}).map(([name, schema]) => [name, valuesOf(schema)]));
  const some = fc.record(fields, { requiredKeys: required });
  // An unknown field, or a missing required field.
  const odd = fc
    .tuple(fc.record(fields, { requiredKeys: [] }), anyText, jsonValue)
    .map(([made, name, value]) => ({ ...made, [name]: value }));
  return fc.oneof({ weight: 5, arbitrary: some as fc.Arbitrary<unknown> }, { weight: 1, arbitrary: odd as fc.Arbitrary<unknown> });
}

function strings({ minLength = 0, maxLength, format }: Schema): fc.Arbitrary<unknown> {
  if (format === "uri") return fc.constantFrom(...URLS);
  const border = maxLength === undefined ? [] : [maxLength, maxLength + 1].map((size) => "a".repeat(Math.min(size, 20_000)));
  return fc.oneof(
    { weight: 3, arbitrary: fc.string({ minLength, maxLength: 20 }) },
    { weight: 1, arbitrary: anyText },
    { weight: 1, arbitrary: fc.constantFrom("", "default", ...border) },
  );
}

function numbers({ minimum = -1000, maximum = 1000 }: Schema): fc.Arbitrary<unknown> {
  const borders = [minimum, minimum - 1, maximum, maximum + 1, 0, -0, 0.5, 2 ** 53, -1];
  return fc.oneof(fc.integer({ min: Math.ceil(minimum), max: Math.floor(maximum) }), fc.constantFrom(...borders));
}
