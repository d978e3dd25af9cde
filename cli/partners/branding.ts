import { readFileSync, statSync } from "node:fs";
import { extname } from "node:path";
import { InvalidArgumentError } from "commander";
import type { Branding } from "@berth/contract/workspace/workspace.ts";
import { accent, LOGO_TYPES, MAX_LOGO_BYTES } from "@berth/server/keys/partner-fields.ts";

export interface BrandingOptions {
  // `none` for our own.
  logo?: string;
  accent?: string;
  hideAgent?: "yes" | "no";
  offerSsh?: "yes" | "no";
}

// A file's content as a data: URL, or `none`.
export function parseLogo(path: string): string {
  if (path === "none") return path;
  const type = (LOGO_TYPES as Record<string, string>)[extname(path).slice(1).toLowerCase()];
  if (!type) throw new InvalidArgumentError("Allowed: an .svg, .png, .webp or .jpg file, or none.");
  const bytes = statSync(path, { throwIfNoEntry: false })?.size;
  if (bytes === undefined) throw new InvalidArgumentError(`There is no file ${path}.`);
  if (bytes > MAX_LOGO_BYTES) throw new InvalidArgumentError("The logo must have at most 16 KiB.");
  return `data:${type};base64,${readFileSync(path).toString("base64")}`;
}

export function parseAccent(text: string): string {
  if (text === "none" || accent.parse(text) !== undefined) return text;
  throw new InvalidArgumentError(`Allowed: ${accent.allowed}, or none.`);
}

// undefined: no option changes the branding.
export function changedBranding(before: Branding, options: BrandingOptions): Branding | undefined {
  const { logo, accent: colour, hideAgent, offerSsh } = options;
  if ([logo, colour, hideAgent, offerSsh].every((option) => option === undefined)) return undefined;
  return {
    logo: logo === undefined ? before.logo : orNull(logo),
    accent: colour === undefined ? before.accent : orNull(colour),
    hideAgent: hideAgent === undefined ? before.hideAgent : hideAgent === "yes",
    offerSsh: offerSsh === undefined ? before.offerSsh : offerSsh === "yes",
  };
}

const orNull = (value: string): string | null => (value === "none" ? null : value);
