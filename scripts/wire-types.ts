// Writes client/types/wire.ts: the bodies of the API that the client names, from the OpenAPI description. Run it when the contract has changed:
// `node scripts/wire-types.ts`. A test fails if the file is not current.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describeApi } from "@berth/contract/openapi/openapi.ts";
import openapiTypes, { astToString, type SchemaObject } from "openapi-typescript";
import { wireSchemas } from "./wire-schemas.ts";

export const WIRE_FILE = join(import.meta.dirname, "../client/types/wire.ts");

export async function generateWireTypes(): Promise<string> {
  const { openapi, info } = describeApi({ baseUrl: "http://localhost" });
  const schemas = wireSchemas() as Record<string, SchemaObject>;
  const ast = await openapiTypes(
    { openapi, info: { title: String(info.title), version: String(info.version) }, paths: {}, components: { schemas } },
    { rootTypes: true, rootTypesNoSchemaPrefix: true, defaultNonNullable: false },
  );
  const types = NOISE.reduce((text, noise) => text.replaceAll(noise, ""), astToString(ast));
  return `// Written by scripts/wire-types.ts from the OpenAPI description.\n${types}`;
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
