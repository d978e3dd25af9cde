import { domainToASCII } from "node:url";

export interface Target {
  // The requested name or address in lower case, without brackets and without a trailing dot.
  host: string;
  port: number;
}

// Parses the target of `CONNECT host:port`. undefined: it is invalid.
export function parseAuthority(authority: string): Target | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^:[\]/@\s]+)):(\d{1,5})$/i.exec(authority);
  return match ? asTarget(match[1] ?? match[2] ?? "", Number(match[3])) : undefined;
}

export interface AbsoluteTarget extends Target {
  // Without dot segments.
  pathname: string;
  // With the query.
  path: string;
  // The value of the Host header.
  authority: string;
}

// Parses the target of an absolute-form request (`GET http://host/path`). undefined: it is invalid or has another scheme.
export function parseAbsolute(url: string): AbsoluteTarget | undefined {
  if (!/^http:\/\//i.test(url) || !URL.canParse(url)) return undefined;
  const { hostname, port, pathname, search, host } = new URL(url);
  const target = asTarget(hostname.replace(/^\[|\]$/g, ""), port === "" ? 80 : Number(port));
  return target && { ...target, pathname, path: `${pathname}${search}`, authority: host };
}

function asTarget(name: string, port: number): Target | undefined {
  const host = name.includes(":") ? name.toLowerCase() : domainToASCII(name).toLowerCase().replace(/\.$/, "");
  return host === "" || port < 1 || port > 65_535 ? undefined : { host, port };
}
