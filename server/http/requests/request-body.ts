import type { FastifyInstance, FastifyRequest } from "fastify";
import type { TObject } from "typebox";
import { AppError, MAX_BODY_BYTES } from "@berth/contract";
import { bodyFault } from "./field-faults.ts";

declare module "fastify" {
  interface FastifyRequest {
    // null if the request has no body.
    rawBody: Buffer | null;
    // The Content-Type header.
    bodyType: string | undefined;
  }
}

// Reads every body as bytes, whatever its media type: some routes ignore the body, some parse JSON, and an Idempotency-Key
// covers the exact bytes. The route that needs JSON checks the media type itself.
export function readBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.decorateRequest("rawBody", null);
  app.decorateRequest("bodyType", undefined);

  app.addContentTypeParser("*", { parseAs: "buffer", bodyLimit: MAX_BODY_BYTES }, (request, bytes, done) => {
    if (bytes.length > 0) request.rawBody = bytes as Buffer;
    done(null, undefined);
  });
}

// Hides the Content-Type header from Fastify, which would refuse types without a parser. Call it before Fastify reads the
// body.
export function hideMediaType(request: FastifyRequest): void {
  const { headers } = request.raw;
  if (headers["content-type"] === undefined) return;
  request.bodyType = headers["content-type"];
  headers["content-type"] = undefined;
}

export type JsonObject = Record<string, unknown>;

// Parses a body that may be absent; undefined if it is.
export function parseOptionalBody(request: FastifyRequest): JsonObject | undefined {
  const value = parseJson(request);
  return value === undefined ? undefined : requireObject(value);
}

// The same, whatever the media type says.
export function parseUntypedBody({ rawBody }: FastifyRequest): JsonObject | undefined {
  return rawBody === null ? undefined : requireObject(parse(rawBody));
}

// A missing body and `null` lack every required field, so the error names those too.
export function parseRequiredBody(request: FastifyRequest, schema: TObject): JsonObject {
  const value = parseJson(request);
  if (value !== undefined && value !== null) return requireObject(value);
  const fields = ["body", ...(schema.required ?? [])];
  throw new AppError("validation_failed", { details: fields.map((field) => ({ field, message: "Required" })) });
}

function requireObject(value: unknown): JsonObject {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw bodyFault("Must be a JSON object");
  return value as JsonObject;
}

function parseJson(request: FastifyRequest): unknown {
  if (request.rawBody === null) return undefined;
  if (!isJson(request.bodyType) || isEncoded(request)) throw new AppError("unsupported_media_type");
  return parse(request.rawBody);
}

const decoder = new TextDecoder("utf-8", { fatal: true });

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(decoder.decode(bytes));
  } catch {
    throw bodyFault("Must be valid JSON in UTF-8");
  }
}

// A body without a media type is parsed as JSON.
function isJson(mediaType: string | undefined): boolean {
  if (mediaType === undefined) return true;
  const essence = mediaType.split(";", 1)[0]!.trim().toLowerCase();
  return essence === "application/json" || /^application\/[\w.-]+\+json$/.test(essence);
}

const isEncoded = ({ headers }: FastifyRequest): boolean =>
  headers["content-encoding"] !== undefined && headers["content-encoding"].toLowerCase() !== "identity";
