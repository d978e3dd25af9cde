import type { CreateSession, FieldFault, SessionRead, Template, UpdateSession } from "@berth/contract";
import { findLimitFaults, toEgressPolicy } from "../../session-limits.ts";
import type { CreateRequest, SessionChange, SessionView } from "../../sessions/sessions.ts";
import { rulesOf } from "../../store/sessions/rules.ts";

// The optional fields of contract/schemas/session/session-rules.ts, in requests and responses.

export const findRuleFaults = (template: Template | undefined, { resources, egress }: CreateSession) =>
  template ? findLimitFaults(template, { ...(resources && { resources }), ...(egress && { egress }) }) : [];

export const parseCreateRules = ({ resources, egress, ...rules }: CreateSession): Partial<CreateRequest> => ({
  ...parseTimeoutRules(rules),
  ...(resources && { resources }),
  ...(egress && { egress: toEgressPolicy(egress) }),
});

// `session` is the one that changes, and `template` its template, if it is still configured.
export function findChangeFaults(
  template: Template | undefined,
  session: SessionView,
  { resources, egress, closeConnections }: UpdateSession,
): FieldFault[] {
  const isChanged = resources !== undefined || egress !== undefined;
  if (isChanged && !template) return [{ field: "template", message: "The template of this session is not configured any more" }];
  const diskMb = session.resources?.diskMb ?? template?.diskMb;
  return [
    ...(closeConnections !== undefined && egress === undefined ? [{ field: "closeConnections", message: "Needs egress" }] : []),
    ...(resources?.diskMb !== undefined && resources.diskMb !== diskMb
      ? [{ field: "resources.diskMb", message: "Cannot be changed after the create" }]
      : findLimitFaults(template!, { ...(resources && { resources }) })),
    ...(egress ? findLimitFaults(template!, { egress }) : []),
  ];
}

export const parseChangedRules = ({ resources, egress, closeConnections, ...rules }: UpdateSession): SessionChange => ({
  ...parseTimeoutRules(rules),
  ...(resources !== undefined && { resources }),
  ...(egress !== undefined && { egress: egress && toEgressPolicy(egress) }),
  ...(closeConnections !== undefined && { closeConnections }),
});

const parseTimeoutRules = ({ autoResume, onTimeout }: Pick<UpdateSession, "autoResume" | "onTimeout">) => ({
  ...(autoResume !== undefined && { autoResume }),
  ...(onTimeout !== undefined && { onTimeout }),
});

export function ruleDetailsOf(session: SessionView): Partial<SessionRead> {
  const { volumes: _, ...rules } = rulesOf(session);
  return rules;
}
