// Writes client/types/wire.ts: the bodies of the API that the client names, from the OpenAPI description. Run it when the contract has changed:
// `node scripts/wire-types.ts`. A test fails if the file is not current.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describeApi } from "@berth/contract/openapi/openapi.ts";
import openapiTypes, { astToString, type SchemaObject } from "openapi-typescript";

export const WIRE_FILE = join(import.meta.dirname, "../client/types/wire.ts");

const SCHEMAS = [
  "AgentMessage",
  "AgentState",
  "AnswerRun",
  "CreateKey",
  "CreateSession",
  "CreateSessionToken",
  "CreateVolume",
  "CreateWebhook",
  "Delivery",
  "EgressHost",
  "Event",
  "ExecEvent",
  "ExecRequest",
  "FileEntry",
  "IssueLaunchUrl",
  "IssuePreviewUrl",
  "Key",
  "LaunchUrl",
  "PreviewUrl",
  "Process",
  "ProcessEvent",
  "PromptRequest",
  "QuestionAnswer",
  "RotateKey",
  "Run",
  "RunEvent",
  "RunStarted",
  "RunSummary",
  "SessionRead",
  "SessionToken",
  "SessionTokenWithSecret",
  "Snapshot",
  "StartProcess",
  "StartRun",
  "UpdateSession",
  "UpdateWebhook",
  "UsageReport",
  "Volume",
  "Webhook",
  "WrittenFile",
];

export async function generateWireTypes(): Promise<string> {
  const { openapi, info, components } = describeApi({ baseUrl: "http://localhost" });
  const schemas: Record<string, SchemaObject> = {};
  for (const name of SCHEMAS) add(name);
  const ast = await openapiTypes(
    { openapi, info: { title: String(info.title), version: String(info.version) }, paths: {}, components: { schemas } },
    { rootTypes: true, rootTypesNoSchemaPrefix: true, defaultNonNullable: false },
  );
  const types = NOISE.reduce((text, noise) => text.replaceAll(noise, ""), astToString(ast));
  return `// Written by scripts/wire-types.ts from the OpenAPI description.\n${types}`;

  // With the schemas to which it refers, so that these come first.
  function add(name: string): void {
    const schema = components.schemas[name];
    if (!schema) throw new Error(`The description has no schema ${name}`);
    if (name in schemas) return;
    schemas[name] = schema as SchemaObject;
    for (const [, other] of JSON.stringify(schema).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)) add(other!);
  }
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
