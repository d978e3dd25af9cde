import type { FastifyReply, FastifyRequest } from "fastify";

export type Request = FastifyRequest;

// Adds a route below API_PATH.
export type AddRoute = (
  method: "GET" | "POST" | "PUT" | "DELETE",
  path: string,
  handler: (request: Request, reply: FastifyReply) => unknown,
) => void;

export const API_PATH = "/e2b";
