import Type, { type Static } from "typebox";
import { SessionEgress } from "./egress.ts";

// The optional fields of a session that say what happens to it over time, and what its sandbox may use.

export const TIMEOUT_ACTIONS = ["pause", "destroy"] as const;
export type TimeoutAction = (typeof TIMEOUT_ACTIONS)[number];

// How long people may keep a session running, counted from its creation or last resume.
export const MAX_TIMEOUT_RANGE = { minimum: 60_000, maximum: 604_800_000 } as const;

const autoResume = (description: string) => Type.Optional(Type.Boolean({ description }));
const onTimeout = (description: string) => Type.Optional(Type.Enum([...TIMEOUT_ACTIONS], { description }));

export const Resources = Type.Object(
  {
    cpus: Type.Optional(Type.Number({ exclusiveMinimum: 0, description: "The processors, such as 1.5." })),
    memoryMb: Type.Optional(Type.Integer({ minimum: 64, description: "The memory in MiB." })),
    diskMb: Type.Optional(Type.Integer({ minimum: 16, description: "The disk for workspace and home, in MiB." })),
  },
  { additionalProperties: false },
);
export type Resources = Static<typeof Resources>;

export const createRules = {
  autoResume: autoResume(
    "Whether opening the launch URL, a call through `sandboxUrl` or a preview resumes the session if it is paused. The default is that of the template or of your account, normally false.",
  ),
  onTimeout: onTimeout(
    "Whether the timeout pauses or destroys the session. The default is that of the template, of your account or of the server, normally `pause`.",
  ),
  resources: Type.Optional({
    ...Resources,
    description: "What the sandbox may use, up to the maximum of the template. The default is that of the template.",
  }),
  egress: Type.Optional({
    ...SessionEgress,
    description: "What the sandbox may reach, within what the template allows. The default is that of the template.",
  }),
};

export const changeRules = {
  autoResume: autoResume("Whether opening the session resumes it if it is paused."),
  onTimeout: onTimeout("Whether the timeout pauses or destroys the session."),
  resources: Type.Optional(
    Type.Union([Resources, Type.Null()], {
      description:
        "What the sandbox may use, up to the maximum of the template. Values that are not named stay; null is back to those of the template. `diskMb` cannot change.",
    }),
  ),
  egress: Type.Optional(
    Type.Union([SessionEgress, Type.Null()], {
      description: "What the sandbox may reach from now on, within what the template allows; null is back to the policy of the template.",
    }),
  ),
  closeConnections: Type.Optional(
    Type.Boolean({ description: "With `egress`: whether open connections that it forbids are closed. The default is false." }),
  ),
};

export const ruleDetails = {
  autoResume: autoResume("Whether opening the session resumes it if it is paused."),
  onTimeout: onTimeout("Whether the timeout pauses or destroys the session."),
  maxTimeoutMs: Type.Optional(
    Type.Union([Type.Integer({ ...MAX_TIMEOUT_RANGE }), Type.Null()], {
      description:
        "How long the user may keep the session running, counted from its creation or last resume; null if not beyond its timeout.",
    }),
  ),
  resources: Type.Optional(
    Type.Union([Resources, Type.Null()], {
      description: "What the sandbox may use, as named on create or changed later; null for the values of the template.",
    }),
  ),
  egress: Type.Optional(
    Type.Union([SessionEgress, Type.Null()], {
      description: "What the sandbox may reach, as named on create or changed later; null for the policy of the template.",
    }),
  ),
};
