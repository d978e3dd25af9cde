import { describeApi } from "@berth/contract/openapi/openapi.ts";

// The bodies of the API that clients use, by their names in the OpenAPI description.
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

// A schema of the description, as far as clients use it.
export interface WireSchema {
  $ref?: string;
  type?: string;
  const?: string | boolean;
  enum?: string[];
  anyOf?: WireSchema[];
  properties?: Record<string, WireSchema>;
  required?: string[];
  additionalProperties?: boolean | WireSchema;
  items?: WireSchema;
  description?: string;
}

// The schemas with those to which they refer. `others` are further names.
export function wireSchemas(others: readonly string[] = []): Record<string, WireSchema> {
  const { components } = describeApi({ baseUrl: "http://localhost" });
  const schemas: Record<string, WireSchema> = {};
  for (const name of [...SCHEMAS, ...others]) add(name);
  return schemas;

  // With the schemas to which it refers, so that these come first.
  function add(name: string): void {
    const schema = components.schemas[name];
    if (!schema) throw new Error(`The description has no schema ${name}`);
    if (name in schemas) return;
    schemas[name] = schema as WireSchema;
    for (const [, other] of JSON.stringify(schema).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)) add(other!);
  }
}
