import type { PermissionRule } from "@berth/contract/agent.ts";
import { commandPattern, pathPattern } from "./glob.ts";
import type { ToolFacts } from "./tool-facts.ts";

// The first rule that matches decides. A rule that denies and may match, because the agent does not say what the tool does, asks.
export function decide(rules: readonly PermissionRule[], facts: ToolFacts): "allow" | "deny" | "ask" {
  for (const rule of rules) {
    if (rule.tool !== "*" && rule.tool !== facts.tool) continue;
    const match = rule.allow ? allows(rule, facts) : denies(rule, facts);
    if (match === "unknown") return "ask";
    if (match) return rule.allow ? "allow" : "deny";
  }
  return "ask";
}

function allows({ path, command }: PermissionRule, { commands, files }: ToolFacts): boolean {
  if (command !== undefined) {
    const pattern = commandPattern(command, { allow: true });
    // The command works on something outside the workspace, or runs there.
    const leavesWorkspace = files.some(({ real }) => real === null);
    return commands.length > 0 && !leavesWorkspace && commands.every((each) => pattern.test(each));
  }
  if (path === undefined) return true;
  const pattern = pathPattern(path);
  return files.length > 0 && files.every(({ real }) => real !== null && pattern.test(real));
}

function denies({ path, command }: PermissionRule, { commands, files }: ToolFacts): boolean | "unknown" {
  if (command !== undefined) {
    const pattern = commandPattern(command, { allow: false });
    return commands.length === 0 ? "unknown" : commands.some((each) => pattern.test(each));
  }
  if (path === undefined) return true;
  const pattern = pathPattern(path);
  return files.length === 0
    ? "unknown"
    : files.some(({ named, real }) => [named, real].some((each) => each !== null && pattern.test(each)));
}

// Whether the agent must ask, so that the rule means something. Agents read without asking.
export const isRestriction = ({ tool, path, allow }: PermissionRule): boolean =>
  !allow || path !== undefined || (tool !== "read" && tool !== "search");
