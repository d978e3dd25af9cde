import type { TestGateway } from "./test-gateway.ts";
import type { SendOptions } from "./test-requests.ts";

// The host of the preview of a port.
export const hostOf = (gateway: TestGateway, port: number) => `${port}-${gateway.sandboxId.replace("_", "-")}.localhost:${gateway.port}`;

// Asks the workspace for a link to a preview.
export async function linkTo(gateway: TestGateway, request: { port: number; path?: string; shareHours?: number }): Promise<URL> {
  const headers = { cookie: await gateway.signIn(), origin: gateway.origin };
  const response = await gateway.send(`/workspace/${gateway.sandboxId}/preview`, {
    method: "POST",
    headers,
    body: JSON.stringify(request),
  });
  return new URL((JSON.parse(response.body) as { url: string }).url);
}

const cookiesOf = new WeakMap<TestGateway, Map<number, string>>();

// The cookie of a preview. A gateway issues one for each port.
export async function cookieFor(gateway: TestGateway, port: number): Promise<string> {
  const known = cookiesOf.get(gateway) ?? new Map<number, string>();
  cookiesOf.set(gateway, known);
  if (!known.has(port)) {
    const link = await linkTo(gateway, { port });
    const { headers } = await gateway.send(link.pathname + link.search, { headers: { host: link.host } });
    known.set(port, headers["set-cookie"]![0]!.split(";")[0]!);
  }
  return known.get(port)!;
}

// Sends a request to a preview, with its cookie.
export async function sendToPreview(gateway: TestGateway, port: number, path: string, options: SendOptions = {}) {
  return gateway.send(path, {
    ...options,
    headers: { cookie: await cookieFor(gateway, port), ...options.headers, host: hostOf(gateway, port) },
  });
}
