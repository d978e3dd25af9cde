export * from "./errors.ts";
export * from "./events.ts";
export * from "./ids.ts";
export * from "./session.ts";
export * from "./template.ts";
export type { Parameter, Route } from "./routes/route.ts";
export * from "./routes/routes.ts";
export * from "./webhook.ts";
