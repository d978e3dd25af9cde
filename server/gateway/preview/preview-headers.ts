import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { SandboxId } from "@berth/contract";
import type { Cookies } from "../access/cookie.ts";
import type { PreviewLinks } from "./preview-link.ts";

// What passes between a browser and a web server inside a sandbox. That server believes to be on localhost (development
// servers insist on it), so its address is exchanged in both directions. It has an origin of its own, where it may do
// what any website may; what could reach beyond that origin is taken out.
export interface PreviewHeaders {
  inward(request: IncomingMessage): Record<string, string>;
  outward(headers: IncomingHttpHeaders): Record<string, string | string[]>;
}

export interface PreviewHeadersOptions {
  cookies: Cookies;
  links: PreviewLinks;
  sandboxId: SandboxId;
  port: number;
  // Who may show the preview in a frame.
  ancestors: string;
}

// Between two neighbours only (RFC 9110), and `expect`, which Node has already answered.
const HOP_BY_HOP = new Set([
  "connection",
  "expect",
  "http2-settings",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
// Would count for more than the preview's own pages, or keep them out of the workspace's frame. The first group acts on
// the whole site, where other previews are: it clears their cookies and caches, or binds sessions to a device. The second
// sends the browser or its reports elsewhere, for longer than the preview lives.
const NOT_OUTWARD = new Set([
  "clear-site-data",
  "secure-session-registration",
  "sec-session-registration",
  "strict-transport-security",
  "public-key-pins",
  "alt-svc",
  "nel",
  "report-to",
  "reporting-endpoints",
  "x-frame-options",
]);
const SENDABLE = /^[\t\x20-\x7e\x80-\xff]*$/;

export function createPreviewHeaders({ cookies, links, sandboxId, port, ancestors }: PreviewHeadersOptions): PreviewHeaders {
  // Pages of other ports of the same sandbox are known inside by their own localhost.
  const toInner = (url: string) => {
    const outer = URL.canParse(url) ? links.parseHost(new URL(url).host) : null;
    return outer?.sandboxId === sandboxId ? url.replace(/^https?:\/\/[^/]+/, `http://localhost:${outer.port}`) : url;
  };
  const toOuter = (url: string) =>
    url.replace(/^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::(\d+))?(?=[/?#]|$)/, (_whole, inner: string | undefined) =>
      links.originOf(sandboxId, Number(inner ?? port)),
    );

  return {
    inward(request) {
      const headers = keep(request.headers, HOP_BY_HOP);
      delete headers["sec-websocket-extensions"];
      delete headers["cookie"];
      const cookie = cookies.strip(request.headers.cookie);
      const moved = Object.entries({ origin: headers["origin"], referer: headers["referer"] })
        .filter((entry): entry is [string, string] => entry[1] !== undefined)
        .map(([name, value]) => [name, toInner(value)]);
      return { ...headers, ...Object.fromEntries(moved), ...(cookie !== undefined && { cookie }), host: `localhost:${port}` };
    },

    outward(headers) {
      const kept: Record<string, string | string[]> = keep(headers, new Set([...HOP_BY_HOP, ...NOT_OUTWARD]));
      for (const name of ["location", "access-control-allow-origin"]) if (typeof kept[name] === "string") kept[name] = toOuter(kept[name]);
      const policy = typeof kept["content-security-policy"] === "string" ? [withoutAncestors(kept["content-security-policy"])] : [];
      const setCookie = (headers["set-cookie"] ?? []).filter((line) => SENDABLE.test(line) && !cookies.isOurs(line)).map(withoutDomain);
      return {
        ...kept,
        ...(setCookie.length > 0 && { "set-cookie": setCookie }),
        "content-security-policy": [...policy, `frame-ancestors ${ancestors}`],
        "origin-agent-cluster": "?1",
      };
    },
  };
}

function keep(headers: IncomingHttpHeaders, without: ReadonlySet<string>): Record<string, string> {
  const named = new Set((headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase()));
  const entries = Object.entries(headers).filter(
    (entry): entry is [string, string] =>
      typeof entry[1] === "string" && SENDABLE.test(entry[1]) && !without.has(entry[0]) && !named.has(entry[0]),
  );
  return Object.fromEntries(entries);
}

const withoutAncestors = (policy: string) =>
  policy
    .split(";")
    .filter((directive) => !/^\s*frame-ancestors\b/i.test(directive))
    .join(";");

// A cookie for the whole domain would reach the previews of others.
const withoutDomain = (line: string) =>
  line
    .split(";")
    .filter((part, i) => i === 0 || !/^\s*domain\s*=/i.test(part))
    .join(";");
