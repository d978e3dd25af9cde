import { Compile } from "typebox/compile";
import { ErrorBody, ROUTES, type Route } from "@berth/contract";

// Fastify does not check what it sends, so tests do: every answer must be what the description promises for its route.
export function checkAnswer(method: string, path: string, status: number, body: string): void {
  const route = known.find((one) => one.method === method && one.pattern.test(path.split("?", 1)[0]!));
  if (!route || status === 304) return;
  const checker = status >= 400 ? errors : status === route.status ? route.checker : null;
  if (checker === undefined) return;
  if (!checker?.Check(JSON.parse(body)))
    throw new Error(`${method} ${path} answered ${status} ${body}, which its description does not promise`);
}

const errors = Compile(ErrorBody);
const known = Object.values<Route>(ROUTES).map(({ method, path, success }) => ({
  method,
  pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}/?$`),
  status: success.status,
  checker: success.schema && Compile(success.schema),
}));
