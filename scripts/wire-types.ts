// Writes client/types/wire.ts: the bodies of the API that the client names, from the OpenAPI description. Run it when the contract has changed:
// `node scripts/wire-types.ts`. A test fails if the file is not current.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { describeApi } from "@berth/contract/openapi/openapi.ts";
import openapiTypes, { astToString, type SchemaObject } from "openapi-typescript";
import ts from "typescript";
import { wireSchemas, type WireSchema } from "./wire-schemas.ts";

export const WIRE_FILE = join(import.meta.dirname, "../client/types/wire.ts");

export async function generateWireTypes(): Promise<string> {
  const { openapi, info } = describeApi({ baseUrl: "http://localhost" });
  const wire = wireSchemas();
  const schemas = wire as Record<string, SchemaObject>;
  const ast = await openapiTypes(
    { openapi, info: { title: String(info.title), version: String(info.version) }, paths: {}, components: { schemas } },
    {
      rootTypes: true,
      rootTypesNoSchemaPrefix: true,
      defaultNonNullable: false,
      transform: (_schema, { path }) => typeOfPart(wire, path?.split("/").at(-1) ?? ""),
    },
  );
  const types = NOISE.reduce((text, noise) => text.replaceAll(noise, ""), astToString(ast));
  return `// Written by scripts/wire-types.ts from the OpenAPI description.\n${types}`;
}

// The type of a schema that is another one without some of its fields, such as RunNow; undefined for others.
function typeOfPart(schemas: Record<string, WireSchema>, name: string): ts.TypeNode | undefined {
  const part = schemas[name];
  if (!part?.properties) return undefined;
  for (const [whole, { properties = {}, required }] of Object.entries(schemas)) {
    const left = Object.keys(properties).filter((field) => !(field in part.properties!));
    const rest = Object.fromEntries(Object.entries(properties).filter(([field]) => !left.includes(field)));
    const isSame = isDeepStrictEqual([rest, required?.filter((field) => !left.includes(field))], [part.properties, part.required]);
    if (left.length === 0 || !isSame) continue;
    const kept = Object.keys(rest);
    const [helper, fields] = left.length <= kept.length ? ["Omit", left] : ["Pick", kept];
    const names = fields.map((field) => JSON.stringify(field)).join(" | ");
    return ts.factory.createTypeReferenceNode(`${helper}<components["schemas"]["${whole}"], ${names}>`);
  }
  return undefined;
}

// Types without content, and tags that only repeat the type.
const NOISE = [
  /^export type (?:paths|webhooks|operations|\$defs) = .*\n/gm,
  /^ {4}(?:responses|parameters|requestBodies|headers|pathItems): never;\n/gm,
  /^ *\/\*\* @constant \*\/\n/gm,
  /^ *\/\*\* @enum \{string\} \*\/\n/gm,
  /^ *\* (?:@constant|@enum \{string\})\n/gm,
  /(?<=\* )@description /g,
];

if (import.meta.main) writeFileSync(WIRE_FILE, await generateWireTypes());
