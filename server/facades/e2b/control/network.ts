import { AppError, type SessionEgress } from "@berth/contract";
import { unsupported } from "../errors.ts";

// E2B's rules for what a sandbox may reach.
export interface Network {
  allowOut?: string[] | null;
  denyOut?: string[] | null;
  allowInternet?: boolean | null | undefined;
  allowPublicTraffic?: boolean;
  maskRequestHost?: string | null;
  [other: string]: unknown;
}

const ALL = "0.0.0.0/0";
const UNSUPPORTED = ["rules", "egressProxy", "httpsPorts"];

// As a policy of Berth: no network, all public addresses, or only some hosts. undefined: that of the template.
export function toEgress({ allowOut, denyOut, allowInternet, ...others }: Network): SessionEgress | undefined {
  const other = UNSUPPORTED.find((field) => others[field] !== undefined && others[field] !== null);
  if (other !== undefined) throw unsupported(`network.${other}`);
  const [allowed, denied] = [hosts(allowOut, "allowOut"), hosts(denyOut, "denyOut")];
  const deniesAll = allowInternet === false || denied.includes(ALL);
  if (!deniesAll) {
    if (denied.length === 0) return undefined;
    // E2B lets allowOut win over denyOut, and here `deny` always wins.
    if (allowed.length > 0) throw unsupported("network.allowOut together with denyOut of single hosts");
    return { policy: "public", deny: denied };
  }
  const range = allowed.find((host) => host.includes("/"));
  if (range !== undefined) throw unsupported(`network.allowOut of a range (${range})`);
  return allowed.length > 0 ? { policy: "hosts", hosts: allowed } : { policy: "none" };
}

function hosts(value: unknown, field: string): string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value) || !value.every((host) => typeof host === "string"))
    throw new AppError("bad_request", { message: `network.${field} must be a list of strings` });
  return value as string[];
}
