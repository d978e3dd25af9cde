import Type, { type Static } from "typebox";

// The egress policy of a template and of a session.

export const EGRESS_POLICIES = ["none", "public", "hosts"] as const;

const host = Type.String({ minLength: 1, maxLength: 256 });

// A host that the sandbox may use only by plain HTTP, with some methods or paths.
export const EgressRule = Type.Object(
  {
    host,
    methods: Type.Optional(
      Type.Array(Type.String({ pattern: "^[A-Z]{1,32}$" }), {
        minItems: 1,
        maxItems: 20,
        description: "The methods that are allowed, such as `GET`. Absent: all.",
      }),
    ),
    paths: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 512 }), {
        minItems: 1,
        maxItems: 50,
        description: "The paths that are allowed; a `*` at the end stands for any rest. Absent: all.",
      }),
    ),
  },
  { additionalProperties: false },
);
export type EgressRule = Static<typeof EgressRule>;

const hosts = Type.Array(Type.Union([host, EgressRule]), {
  maxItems: 100,
  description:
    "With the policy `hosts`: names, `*.domain` or addresses, each with an optional `:port`. An object with `methods` or `paths` allows only such requests, by plain HTTP.",
});

const deny = Type.Array(host, {
  maxItems: 100,
  description:
    "With `public` or `hosts`: names, `*.domain`, addresses or networks such as `192.0.2.0/24` that the sandbox may not reach, whatever else is allowed.",
});

export const EgressPolicy = Type.Union([
  Type.Object({ policy: Type.Literal("none") }),
  Type.Object({ policy: Type.Literal("public"), deny: Type.Optional(deny) }),
  Type.Object({
    policy: Type.Literal("hosts"),
    hosts: Type.Array(Type.Union([Type.String({ minLength: 1 }), EgressRule])),
    deny: Type.Optional(deny),
  }),
]);
export type EgressPolicy = Static<typeof EgressPolicy>;

export const SessionEgress = Type.Object(
  {
    policy: Type.Enum([...EGRESS_POLICIES], {
      description: "No network, all public addresses, or only `hosts`.",
    }),
    hosts: Type.Optional(hosts),
    deny: Type.Optional(deny),
  },
  { additionalProperties: false },
);
export type SessionEgress = Static<typeof SessionEgress>;
