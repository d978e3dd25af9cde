import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { SandboxId } from "@berth/contract";
import { endToEndHeaders } from "@berth/contract/forwarding/forwarding.ts";
import type { Cookies } from "../access/cookie.ts";
import { isSendable } from "../relay/sandbox-headers.ts";
import { withoutCredentials } from "./token-guests.ts";
import type { PreviewLinks } from "./preview-link.ts";

// The headers that pass between a browser and a web server in a sandbox. Development servers insist on localhost, so the
// server's address is rewritten both ways. A preview has its own origin and may do there what any website may; headers
// with effects beyond that origin are removed.
export interface PreviewHeaders {
  toSandbox(request: IncomingMessage): Record<string, string>;
  fromSandbox(headers: IncomingHttpHeaders): Record<string, string | string[]>;
}

export interface PreviewHeadersOptions {
  cookies: Cookies;
  links: PreviewLinks;
  sandboxId: SandboxId;
  port: number;
  // The value of the frame-ancestors directive.
  ancestors: string;
}

// Headers with effects beyond the preview's own pages. The first three act on the whole site, which other previews share:
// they clear cookies and caches, or bind sessions to a device. The next six redirect the browser or its reports, and outlive
// the preview. The last one would keep the preview out of the workspace's frame.
const BLOCKED_FROM_SANDBOX = new Set([
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

export function createPreviewHeaders({ cookies, links, sandboxId, port, ancestors }: PreviewHeadersOptions): PreviewHeaders {
  // Inside the sandbox, a page on another of its ports is on localhost too.
  const toInner = (url: string) => {
    const outer = URL.canParse(url) ? links.parseHost(new URL(url).host) : null;
    return outer?.sandboxId === sandboxId ? url.replace(/^https?:\/\/[^/]+/, `http://localhost:${outer.port}`) : url;
  };
  const toOuter = (url: string) =>
    url.replace(/^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::(\d+))?(?=[/?#]|$)/, (_whole, inner: string | undefined) =>
      links.originOf(sandboxId, Number(inner ?? port)),
    );

  return {
    toSandbox(request) {
      const headers = withoutCredentials(keep(request.headers));
      delete headers["sec-websocket-extensions"];
      delete headers["e2b-traffic-access-token"];
      delete headers["cookie"];
      const cookie = cookies.strip(request.headers.cookie);
      const moved = Object.entries({ origin: headers["origin"], referer: headers["referer"] })
        .filter((entry): entry is [string, string] => entry[1] !== undefined)
        .map(([name, value]) => [name, toInner(value)]);
      return { ...headers, ...Object.fromEntries(moved), ...(cookie !== undefined && { cookie }), host: `localhost:${port}` };
    },

    fromSandbox(headers) {
      const kept: Record<string, string | string[]> = keep(headers, BLOCKED_FROM_SANDBOX);
      for (const name of ["location", "access-control-allow-origin"]) if (typeof kept[name] === "string") kept[name] = toOuter(kept[name]);
      const policy = typeof kept["content-security-policy"] === "string" ? [withoutAncestors(kept["content-security-policy"])] : [];
      const setCookie = (headers["set-cookie"] ?? []).filter((line) => isSendable(line) && !cookies.isOurs(line)).map(withoutDomain);
      return {
        ...kept,
        ...(setCookie.length > 0 && { "set-cookie": setCookie }),
        "content-security-policy": [...policy, `frame-ancestors ${ancestors}`],
        "origin-agent-cluster": "?1",
      };
    },
  };
}

function keep(headers: IncomingHttpHeaders, without?: ReadonlySet<string>): Record<string, string> {
  const entries = Object.entries(endToEndHeaders(headers)).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string" && isSendable(entry[1]) && !without?.has(entry[0]),
  );
  return Object.fromEntries(entries);
}

const withoutAncestors = (policy: string) =>
  policy
    .split(";")
    .filter((directive) => !/^\s*frame-ancestors\b/i.test(directive))
    .join(";");

// A cookie for the whole domain would reach other sandboxes' previews.
const withoutDomain = (line: string) =>
  line
    .split(";")
    .filter((part, i) => i === 0 || !/^\s*domain\s*=/i.test(part))
    .join(";");
