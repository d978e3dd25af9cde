import { isPassword, signIn } from "../../lib/login.ts";

export async function POST(request: Request): Promise<Response> {
  const form = await request.formData();
  const [user, password] = [form.get("user"), form.get("password")];
  if (typeof user !== "string" || typeof password !== "string" || !isPassword(user, password))
    return new Response(null, { status: 303, headers: { location: "/?wrong" } });
  return new Response(null, { status: 303, headers: { location: "/", "set-cookie": signIn(user) } });
}
