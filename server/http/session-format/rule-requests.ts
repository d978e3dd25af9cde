import type { CreateSession, SessionRead, Template, UpdateSession } from "@berth/contract";
import { findLimitFaults, toEgressPolicy } from "../../session-limits.ts";
import type { CreateRequest, SessionChange, SessionView } from "../../sessions/sessions.ts";
import { rulesOf } from "../../store/sessions/rules.ts";

// The optional fields of contract/schemas/session-rules.ts, in requests and responses.

export const findRuleFaults = (template: Template | undefined, { resources, egress }: CreateSession) =>
  template ? findLimitFaults(template, { ...(resources && { resources }), ...(egress && { egress }) }) : [];

export const parseCreateRules = ({ resources, egress, ...rules }: CreateSession): Partial<CreateRequest> => ({
  ...parseChangedRules(rules),
  ...(resources && { resources }),
  ...(egress && { egress: toEgressPolicy(egress) }),
});

export const parseChangedRules = ({ autoResume, onTimeout }: Pick<UpdateSession, "autoResume" | "onTimeout">): SessionChange => ({
  ...(autoResume !== undefined && { autoResume }),
  ...(onTimeout !== undefined && { onTimeout }),
});

export function ruleDetailsOf(session: SessionView): Partial<SessionRead> {
  const { volumes: _, ...rules } = rulesOf(session);
  return rules;
}
