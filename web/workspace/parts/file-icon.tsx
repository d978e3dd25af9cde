import { Braces, FileCode, FileImage, FileText, FileTerminal, File as PlainFile, type LucideIcon } from "lucide-react";
import { extensionOf } from "../text/paths.ts";

export function FileIcon({ path }: { path: string }) {
  const Icon = icons.get(extensionOf(path)) ?? PlainFile;
  return <Icon size={15} strokeWidth={1.7} className="kind" aria-hidden="true" />;
}

const kinds: [LucideIcon, string][] = [
  [FileCode, "ts tsx js jsx mjs cjs py go rs java c h cpp hpp cs rb php swift kt html css scss vue svelte sql"],
  [Braces, "json jsonc yaml yml toml xml ini lock"],
  [FileText, "md markdown txt rst log"],
  [FileImage, "png jpg jpeg gif webp avif svg ico bmp"],
  [FileTerminal, "sh bash zsh fish"],
];
const icons = new Map(kinds.flatMap(([icon, extensions]) => extensions.split(" ").map((extension) => [extension, icon] as const)));
