import { createHmac, timingSafeEqual } from "node:crypto";

// Stands for your own sign-in. The cookie has the user's name and a signature, so that any of your servers can check it.
const PASSWORDS: Record<string, string> = { ada: "engine", grace: "compiler" };

export const isPassword = (user: string, password: string) => PASSWORDS[user] === password;

export const signIn = (user: string) => `login=${user}.${signatureOf(user)}; Path=/; HttpOnly; SameSite=Lax`;

export function userOf(cookies: string | null): string | undefined {
  const [, user = "", signature = ""] = /(?:^|; )login=(\w+)\.(\w+)/.exec(cookies ?? "") ?? [];
  const expected = signatureOf(user);
  return signature.length === expected.length && timingSafeEqual(Buffer.from(signature), Buffer.from(expected)) ? user : undefined;
}

function signatureOf(user: string): string {
  const secret = process.env.COOKIE_SECRET;
  if (!secret) throw new Error("Set COOKIE_SECRET to a long random text");
  return createHmac("sha256", secret).update(user).digest("hex");
}
