// The rules for every request that we forward from one HTTP peer to another: egress, relays, previews and ports.

export type ForwardedHeaders = Readonly<Record<string, string | string[] | undefined>>;

// Hop-by-hop headers (RFC 9110), and `expect`, which our own server has answered.
const HOP_BY_HOP: ReadonlySet<string> = new Set(
  "connection expect http2-settings keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding upgrade".split(
    " ",
  ),
);

// Removes the headers that concern only the connection to our own server. Connection may name more of them.
export function endToEndHeaders<Headers extends ForwardedHeaders>(headers: Headers): Headers {
  const named = new Set(
    String(headers["connection"] ?? "")
      .split(",")
      .map((name) => name.trim().toLowerCase()),
  );
  const kept = Object.entries(headers).filter(([name]) => !HOP_BY_HOP.has(name) && !named.has(name));
  return Object.fromEntries(kept) as Headers;
}

// The header that says where the body of a request ends. null: there is no body. It must be sent for every
// method, whatever Connection names: an upstream takes the bytes of a body without it for a second request.
export function bodyFraming(headers: ForwardedHeaders): Record<string, string> | null {
  if (headers["transfer-encoding"] !== undefined) return { "transfer-encoding": "chunked" };
  const length = headers["content-length"];
  return typeof length === "string" ? { "content-length": length } : null;
}

// Node refuses to write some other statuses, and none of them ends a request.
export const isForwardableStatus = (status: number | undefined): status is number => status !== undefined && status >= 200 && status <= 599;

// Upstreams send few of these (100, 103). Each one restarts an idle timeout, so without a limit they could hold a connection.
export const MAX_INTERIM_ANSWERS = 16;
