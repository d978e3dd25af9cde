import type { FastifyRequest } from "fastify";
import { isLoopbackHost } from "../../network/loopback.ts";
import { readPeerUser } from "../../network/loopback-peer.ts";

// Whether a request comes from a browser of the person who runs this server. The page can then do without an API key.
//
// - The connection is within this machine, and no proxy forwarded it.
// - The other end runs as the same user, as root, or as the user who started the server with sudo. Other users of the machine,
//   and proxies, which have users of their own, are strangers.
// - The address bar shows this machine. Otherwise a site could point its own name here (DNS rebinding).
export function isLocalCaller(request: FastifyRequest): boolean {
  if (!isLoopbackCaller(request)) return false;
  if (process.platform !== "linux") return true;
  const user = readPeerUser(request.raw.socket);
  return user !== undefined && [0, process.getuid?.(), sudoUser()].includes(user);
}

// Whether a request comes from this machine, under its own name, and through no proxy. Any user of the machine may have sent it.
export const isLoopbackCaller = ({ ip, headers }: FastifyRequest): boolean =>
  isLoopbackHost(ip.replace(/^::ffff:/, "")) && isOwnName(headers.host) && FORWARDED.every((name) => headers[name] === undefined);

// Browsers send the Origin with every form. It must be exactly the page's: a preview on a subdomain of localhost is another one.
export const isSameOrigin = ({ headers }: FastifyRequest): boolean =>
  headers.origin === `http://${headers.host}` && [undefined, "same-origin"].includes(headers["sec-fetch-site"] as string | undefined);

const FORWARDED = ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip"];

// Whether a Host names this machine.
export const isOwnName = (host = ""): boolean => /^(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/i.test(host);

function sudoUser(): number | undefined {
  const { SUDO_UID } = process.env;
  return SUDO_UID && process.getuid?.() === 0 ? Number(SUDO_UID) : undefined;
}
