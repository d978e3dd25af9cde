export * from "./errors.ts";
export * from "./schemas/events.ts";
export * from "./ids.ts";
export * from "./schemas/session.ts";
export * from "./schemas/template.ts";
export type { Parameter, Route } from "./routes/route.ts";
export * from "./routes/routes.ts";
export { SANDBOX_ROUTES } from "./routes/sandbox-routes.ts";
export * from "./schemas/webhook.ts";
