import fastJsonStringify, { type Schema } from "fast-json-stringify";
import type { FastifyInstance } from "fastify";

// Compiles the serializer of a response when the first one is sent. To compile all of them takes an eighth of the server's start.
export function compileSerializersLater(app: FastifyInstance): void {
  app.setSerializerCompiler(({ schema }) => {
    let serialize: ((data: unknown) => string) | undefined;
    return (data) => (serialize ??= fastJsonStringify(schema as Schema))(data);
  });
}
