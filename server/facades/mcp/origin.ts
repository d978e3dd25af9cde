import type { FastifyRequest } from "fastify";
import { AppError } from "@berth/contract";
import { isOwnName } from "../../http/requests/local-caller.ts";

// Refuses requests of web pages of other sites, and those of a site that points its own name to this machine (DNS rebinding). Programs
// send no Origin. A server for other machines may be behind a proxy that changes the Host, so only the Origin counts there.
export function createOriginCheck(baseUrl: string): (request: FastifyRequest) => void {
  const own = new URL(baseUrl);
  const isLocal = isOwnName(own.host);
  const isOwn = (origin: string) => origin === own.origin || (isLocal && /^https?:\/\//.test(origin) && isOwnName(new URL(origin).host));
  return ({ headers: { origin, host } }) => {
    const isFromHere = origin === undefined || (URL.canParse(origin) && isOwn(origin));
    if (!isFromHere || (isLocal && !isOwnName(host))) throw new AppError("forbidden", { message: "The request comes from another site" });
  };
}
