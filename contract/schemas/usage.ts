import Type, { type Static } from "typebox";

export const USAGE_GROUPS = ["day", "session", "user", "template"] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];

// More rows are refused.
export const MAX_USAGE_ROWS = 10_000;
export const MAX_USAGE_DAYS = 366;

const Amount = (description: string) => Type.Number({ minimum: 0, description });
const Count = (description: string) => Type.Integer({ minimum: 0, description });
const Day = (description: string) => Type.String({ format: "date", description });

export const Usage = Type.Object(
  {
    day: Type.Optional(Day("The day, in UTC. Only with `groupBy=day`.")),
    sessionId: Type.Optional(Type.String({ description: "The session. Only with `groupBy=session`." })),
    externalUserId: Type.Optional(Type.String({ description: "Your user. Only with `groupBy=user`." })),
    template: Type.Optional(Type.String({ description: "The template. Only with `groupBy=template`." })),
    runningSeconds: Amount("The time in which sessions were running, to the millisecond."),
    pausedSeconds: Amount("The time in which sessions were paused and kept their memory."),
    hibernatedSeconds: Amount("The time in which sessions were paused and only their files were kept."),
    cpuSeconds: Amount("Processor time. 0 where the engine does not measure it."),
    memoryPeakBytes: Count("The largest sample of a session's memory."),
    memoryMeanBytes: Count("The mean of all samples of a session's memory while it was running."),
    diskPeakBytes: Count("The largest sample of a session's disk. 0 where the engine does not measure it."),
    diskMeanBytes: Count("The mean of all samples of a session's disk while it was running."),
    egressBytes: Count("Bytes that sandboxes sent to the network."),
    ingressBytes: Count("Bytes that sandboxes received from the network."),
    inputTokens: Count("Tokens that agents sent to the model."),
    outputTokens: Count("Tokens that agents received from the model."),
    estimatedCost: Type.Union([Type.Number({ minimum: 0 }), Type.Null()], {
      description: "The usage at the operator's prices, rounded to a millionth; null if the operator has set no prices.",
    }),
  },
  { $id: "Usage" },
);
export type Usage = Static<typeof Usage>;

export const UsageReport = Type.Object(
  {
    from: Day("The first day of the report, in UTC."),
    to: Day("The first day after the report, in UTC."),
    currency: Type.Union([Type.String(), Type.Null()], {
      description: "The currency of the costs; null if the operator has set no prices.",
    }),
    data: Type.Array(Usage, { description: "One row for each group that used something, or one row in all without `groupBy`." }),
  },
  { $id: "UsageReport" },
);
export type UsageReport = Static<typeof UsageReport>;
