import Type, { type TObject, type TSchema } from "typebox";
import type { ErrorCode } from "../errors.ts";
import { KEY_SCOPES, type KeyScope } from "../schemas/key.ts";
import type { TokenScope } from "../schemas/session-token.ts";

export interface Route {
  method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  // Relative to {base_url}, with {name} for parameters.
  path: string;
  tag:
    | "Sessions"
    | "Session tokens"
    | "Runs"
    | "Snapshots"
    | "Events"
    | "Webhooks"
    | "Keys"
    | "Usage"
    | "Volumes"
    | "Description"
    | SandboxTag;
  summary: string;
  description: string;
  // Needs no API key.
  public?: true;
  // The scope that the key needs, if it is not the usual one of the method (see `scopeOf`).
  scope?: KeyScope;
  // The scope with which a session token may make the call for its own session. Absent: none.
  tokenScope?: TokenScope | "any";
  // Accepts an Idempotency-Key.
  idempotent?: true;
  body?: { schema: TObject; required: boolean };
  query?: readonly Parameter[];
  // The media type of a body that is not JSON.
  upload?: string;
  success: Success;
  // The errors that the route has in addition to `commonErrors`.
  errors: readonly ErrorCode[];
}

// A route of a sandbox's own API, which always says who may call it with a token.
export type SandboxRoute = Route & Required<Pick<Route, "tokenScope">>;

// The parts of a sandbox's own API.
export type SandboxTag = "Commands" | "Processes" | "Files" | "Terminals" | "Ports" | "Changes" | "Git" | "Agent";

export interface Success extends Content {
  status: number;
  // A stream of objects, one per line or per server-sent event.
  lines?: { media: string; schema: TSchema };
  // `true`: a request with If-None-Match can get 304. `response`: the response has one.
  etag?: true | "response";
  example?: object;
  // Further successful responses.
  also?: readonly ({ status: number } & Content)[];
}

interface Content {
  description: string;
  schema?: TSchema;
  media?: readonly string[];
}

export interface Parameter {
  required?: true;
  name: string;
  in: "query" | "header";
  description: string;
  schema: TSchema;
  // How an object is written in a query string: `name[key]=value`.
  style?: "deepObject";
  explode?: true;
}

// The scope that a key needs to call the route.
export const scopeOf = ({ scope, method }: Route): KeyScope => scope ?? (method === "GET" ? "read" : "sessions");

export const includesScope = (held: KeyScope, needed: KeyScope): boolean => KEY_SCOPES.indexOf(held) >= KEY_SCOPES.indexOf(needed);

export const route = <const R extends Route>(definition: R): R => definition;

export const query = (name: string, description: string, schema: TSchema, presence?: "required"): Parameter => ({
  name,
  in: "query",
  ...(presence && { required: true as const }),
  description,
  schema,
});

export const header = (name: string, description: string): Parameter => ({ name, in: "header", description, schema: Type.String() });
