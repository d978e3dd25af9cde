import { expect } from "vitest";
import { createBerth } from "../../client/index.ts";

interface Place {
  appUrl: string;
  server: { url: string; key: string };
}

// Makes the calls that the pages of examples/next-app make, and leaves a session of the user ada behind. Returns the cookie of the login.
export async function walkThroughNextApp({ appUrl, server }: Place): Promise<string> {
  const ask = (path: string, init: RequestInit = {}) => fetch(`${appUrl}${path}`, { redirect: "manual", ...init });
  const login = (password: string) => ask("/login", { method: "POST", body: new URLSearchParams({ user: "ada", password }) });

  expect((await login("guess")).headers.get("location")).toBe("/?wrong");
  const cookie = (await login("engine")).headers.get("set-cookie")!.split(";")[0]!;
  for (const wrong of ["", "login=ada", `${cookie}0`, cookie.replace("ada", "grace")])
    expect((await ask("/workspace", { headers: { cookie: wrong } })).status).toBe(403);

  const opened = await ask("/workspace", { headers: { cookie } });
  expect([opened.status, opened.headers.get("cache-control")]).toEqual([303, "no-store"]);
  // The workspace sets its cookie and redirects to an address without a secret.
  const launched = await fetch(opened.headers.get("location")!, { redirect: "manual" });
  expect([launched.status, launched.headers.get("location")]).toEqual([303, expect.stringMatching(/\/workspace\/sbx_\w+\/$/)]);

  const session = await createBerth({ baseUrl: server.url, apiKey: server.key }).sessions.forUser("ada");
  await session.pause();
  expect((await ask("/resume", { method: "POST" })).status).toBe(403);
  expect((await ask("/resume", { method: "POST", headers: { cookie } })).status).toBe(204);
  expect((await session.refresh()).status).toBe("running");

  const forged = { "webhook-id": "evt_1", "webhook-timestamp": String(Math.floor(Date.now() / 1000)), "webhook-signature": "v1,AAAA" };
  expect((await ask("/hooks/berth", { method: "POST", headers: forged, body: "{}" })).status).toBe(401);
  return cookie;
}

// Settings of the app, with a webhook that reports to it.
export async function nextAppSettings({ appUrl, server }: Place): Promise<Record<string, string>> {
  const { secret } = await createBerth({ baseUrl: server.url, apiKey: server.key }).webhooks.create({ url: `${appUrl}/hooks/berth` });
  return { COOKIE_SECRET: "a-long-random-text", BERTH_WEBHOOK_SECRET: secret };
}
