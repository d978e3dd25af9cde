import type { TObject, TSchema } from "typebox";
import type { ErrorCode } from "../errors.ts";

export interface Route {
  method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  // Relative to {base_url}, with {name} for parameters.
  path: string;
  tag: "Sessions" | "Events" | "Webhooks" | "Description";
  summary: string;
  description: string;
  // Needs no API key.
  public?: true;
  // Accepts an Idempotency-Key.
  idempotent?: true;
  body?: { schema: TObject; required: boolean };
  query?: readonly Parameter[];
  success: { status: number; description: string; schema?: TSchema; media?: readonly string[]; etag?: true; example?: object };
  // In addition to `commonErrors`.
  errors: readonly ErrorCode[];
}

export interface Parameter {
  name: string;
  in: "query" | "header";
  description: string;
  schema: TSchema;
  // How an object is written in a query string: `name[key]=value`.
  style?: "deepObject";
  explode?: true;
}

export const route = <const R extends Route>(definition: R): R => definition;

export const query = (name: string, description: string, schema: TSchema): Parameter => ({ name, in: "query", description, schema });
