import { isLoopbackHost, isLoopbackUrl } from "../../network/loopback.ts";

export interface Exposure {
  // The address that the server listens on.
  host: string;
  // The public URL of the server. null if it is reached on localhost.
  baseUrl: string | null;
  // The operator accepts the risk.
  allowUnisolated: boolean;
}

// Without isolation, everyone who can reach the server can run commands as its user. Returns the reason if other machines can reach
// it. A server behind a reverse proxy listens on loopback too, so the base URL is checked as well.
export function exposureRefusal({ host, baseUrl, allowUnisolated }: Exposure): string | undefined {
  if (allowUnisolated) return undefined;
  if (!isLoopbackHost(host)) return refusal(`BERTH_HOST is ${host}`, "Listen on 127.0.0.1");
  if (baseUrl !== null && !isLoopbackUrl(baseUrl)) return refusal(`BERTH_BASE_URL is ${baseUrl}`, "Use a driver that isolates");
  return undefined;
}

const refusal = (setting: string, remedy: string) =>
  `Plain processes have no isolation, and ${setting}, so other machines can reach this server. ${remedy}, or accept the risk with BERTH_ALLOW_UNISOLATED=1.`;
