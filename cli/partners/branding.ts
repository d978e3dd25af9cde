import { readFileSync, statSync } from "node:fs";
import { extname } from "node:path";
import { InvalidArgumentError } from "commander";
import type { Branding } from "@berth/contract/workspace.ts";

const TYPES: Record<string, string> = { ".svg": "image/svg+xml", ".png": "image/png", ".webp": "image/webp", ".jpg": "image/jpeg" };
// Every page of the partner's workspaces contains the logo.
const MAX_LOGO_BYTES = 16 * 1024;

export interface BrandingOptions {
  // `none` for our own.
  logo?: string;
  accent?: string;
  hideAgent?: "yes" | "no";
}

// A file's content as a data: URL, or `none`.
export function parseLogo(path: string): string {
  if (path === "none") return path;
  const type = TYPES[extname(path).toLowerCase()];
  if (!type) throw new InvalidArgumentError("Allowed: an .svg, .png, .webp or .jpg file, or none.");
  const bytes = statSync(path, { throwIfNoEntry: false })?.size;
  if (bytes === undefined) throw new InvalidArgumentError(`There is no file ${path}.`);
  if (bytes > MAX_LOGO_BYTES) throw new InvalidArgumentError("The logo must have at most 16 KiB.");
  return `data:${type};base64,${readFileSync(path).toString("base64")}`;
}

export function parseAccent(text: string): string {
  if (text === "none" || /^#[0-9a-f]{6}$/i.test(text)) return text;
  throw new InvalidArgumentError("Allowed: a colour such as #7c3aed, or none.");
}

// undefined: no option changes the branding.
export function changedBranding(before: Branding, { logo, accent, hideAgent }: BrandingOptions): Branding | undefined {
  if (logo === undefined && accent === undefined && hideAgent === undefined) return undefined;
  return {
    logo: logo === undefined ? before.logo : orNull(logo),
    accent: accent === undefined ? before.accent : orNull(accent),
    hideAgent: hideAgent === undefined ? before.hideAgent : hideAgent === "yes",
  };
}

const orNull = (value: string): string | null => (value === "none" ? null : value);
