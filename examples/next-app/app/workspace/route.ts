import { connect } from "../../lib/berth.ts";
import { userOf } from "../../lib/login.ts";

// The frame points here. A launch URL is a short-lived secret: request it when it is needed, and never put it into a page.
export async function GET(request: Request): Promise<Response> {
  const user = userOf(request.headers.get("cookie"));
  if (user === undefined) return new Response("Sign in first.", { status: 403 });
  const session = await connect().sessions.forUser(user, { metadata: { lesson: "hello" } });
  const { url } = await session.launchUrl({ displayName: user });
  return new Response(null, { status: 303, headers: { location: url, "cache-control": "no-store", "referrer-policy": "no-referrer" } });
}
