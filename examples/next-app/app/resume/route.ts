import { connect } from "../../lib/berth.ts";
import { userOf } from "../../lib/login.ts";

export async function POST(request: Request): Promise<Response> {
  const user = userOf(request.headers.get("cookie"));
  if (user === undefined) return new Response(null, { status: 403 });
  await connect().sessions.forUser(user);
  return new Response(null, { status: 204 });
}
