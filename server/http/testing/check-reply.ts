import { Compile } from "typebox/compile";
import { ErrorBody, ForkedSessions, ROUTES, type Route } from "@berth/contract";

// Fastify does not validate replies, so the tests do: every reply must match the API description of its route.
export function checkReply(method: string, path: string, status: number, body: string): void {
  const route = routes.find((one) => one.method === method && one.pattern.test(path.split("?", 1)[0]!));
  if (!route || status === 304 || route.also.includes(status)) return;
  const checker = status >= 400 ? errorChecker : status === route.status ? route.checker : status === 207 ? severalChecker : null;
  if (checker === undefined) return;
  if (!checker?.Check(JSON.parse(body)))
    throw new Error(`${method} ${path} replied ${status} ${body}, which does not match its description`);
}

const errorChecker = Compile(ErrorBody);
// The only reply that is not in the description: a client generated from it would not know what a create returns.
const severalChecker = Compile(ForkedSessions);
const routes = Object.values<Route>(ROUTES).map(({ method, path, success }) => ({
  method,
  pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}/?$`),
  status: success.status,
  // Further replies without a body.
  also: success.also?.map((also) => also.status) ?? [],
  checker: success.schema && Compile(success.schema),
}));
