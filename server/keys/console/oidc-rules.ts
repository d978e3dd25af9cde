// The claims of an ID token that rules read.
export type Claims = Readonly<Record<string, unknown>>;

// The first rule of BERTH_CONSOLE_OIDC_ALLOW that allows a person: an e-mail address, @domain, or claim=value. null: none does.
export function ruleFor(rules: readonly string[], claims: Claims): string | null {
  return rules.find((rule) => allows(rule, claims)) ?? null;
}

function allows(rule: string, claims: Claims): boolean {
  const at = rule.indexOf("=");
  if (at > 0) return valuesOf(claims[rule.slice(0, at)]).includes(rule.slice(at + 1));
  const email = verifiedEmail(claims);
  if (email === null) return false;
  return rule.startsWith("@") ? email.endsWith(rule.toLowerCase()) : email === rule.toLowerCase();
}

// Providers let people enter any address, so one that is not verified proves nothing.
function verifiedEmail({ email, email_verified: isVerified }: Claims): string | null {
  return typeof email === "string" && (isVerified === true || isVerified === "true") ? email.toLowerCase() : null;
}

const valuesOf = (claim: unknown): string[] =>
  [claim]
    .flat()
    .flatMap((value) => (typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? [String(value)] : []));
