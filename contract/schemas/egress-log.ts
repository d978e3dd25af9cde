import Type, { type Static } from "typebox";

export const EGRESS_OUTCOMES = ["allowed", "refused", "unreachable"] as const;

const Time = (description: string) => Type.String({ format: "date-time", description });
const Count = (description: string) => Type.Integer({ minimum: 0, description });

export const EgressHost = Type.Object(
  {
    host: Type.String({
      description: "The name or address that the sandbox asked for. `*` stands for all further ones, after 200 hosts of a session.",
    }),
    port: Type.Integer({ minimum: 0, maximum: 65_535, description: "The port; 0 with the host `*`." }),
    outcome: Type.Enum([...EGRESS_OUTCOMES], {
      description: "`allowed`: connected. `refused`: the egress policy forbids it. `unreachable`: allowed, but there was no connection.",
    }),
    rule: Type.String({
      description:
        "Why: the policy or host pattern that allowed it, `BERTH_EGRESS_ALLOW`, `relay` with its name, `model`, or the reason for which there was no connection.",
    }),
    connections: Count("Connections or attempts. Each request to a model counts as one."),
    sentBytes: Count("Bytes that the sandbox sent."),
    receivedBytes: Count("Bytes that the sandbox received."),
    firstAt: Time("The first connection or attempt."),
    lastAt: Time("The last one, or the last bytes of it."),
  },
  { $id: "EgressHost" },
);
export type EgressHost = Static<typeof EgressHost>;

export const EgressLog = Type.Object(
  { data: Type.Array(EgressHost, { description: "The hosts, the last used first." }) },
  { $id: "EgressLog" },
);
export type EgressLog = Static<typeof EgressLog>;
