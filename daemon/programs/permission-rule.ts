import type { PermissionRule } from "@berth/contract/agent.ts";
import { badRequest } from "../http/errors.ts";

// The fields that a rule about each tool may have besides `tool` and `allow`.
const FIELDS: Record<PermissionRule["tool"], readonly string[]> = {
  read: ["path"],
  edit: ["path"],
  delete: ["path"],
  move: ["path"],
  search: ["path"],
  shell: ["command"],
  fetch: [],
  other: [],
  "*": [],
};

// Refuses what it does not understand: a rule that is partly ignored could allow too much.
export function parseRule(value: unknown): PermissionRule {
  const { tool, allow, ...conditions } = (typeof value === "object" && value !== null ? value : {}) as Record<string, unknown>;
  if (typeof tool !== "string" || !Object.hasOwn(FIELDS, tool)) throw badRequest(`tool must be one of ${Object.keys(FIELDS).join(", ")}`);
  if (typeof allow !== "boolean") throw badRequest("allow must be a boolean");
  for (const [name, condition] of Object.entries(conditions)) {
    if (!FIELDS[tool as PermissionRule["tool"]].includes(name)) throw badRequest(`A rule for ${tool} has no field ${name}`);
    if (typeof condition !== "string" || condition === "") throw badRequest(`${name} must be a string that is not empty`);
  }
  const { path } = conditions;
  if (typeof path === "string" && (path.startsWith("/") || path.split("/").includes("..")))
    throw badRequest("path must be relative to the workspace, without ..");
  return value as PermissionRule;
}
