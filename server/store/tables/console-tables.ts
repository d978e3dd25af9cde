// Tokens with which operators sign in to the console.
export interface OperatorTokensTable {
  id: string;
  // SHA-256 of the whole token, hex. The token itself is not stored.
  hash: string;
  // First and last characters, for lists.
  hint: string;
  name: string;
  created_at: number;
  expires_at: number;
  last_used_at: number | null;
  revoked_at: number | null;
  // Set for a person who signed in at an identity provider: issuer and subject, and the rule that allowed it. No one knows the token
  // of such a row.
  oidc_subject: string | null;
  oidc_rule: string | null;
}

// Browsers that are signed in to the console: with an operator token or with a partner's API key.
export interface ConsoleLoginsTable {
  // SHA-256 of the cookie, hex.
  hash: string;
  token_id: string | null;
  key_id: string | null;
  created_at: number;
  expires_at: number;
}
