import {
  Braces,
  File as PlainFile,
  FileText,
  GitBranch,
  FileImage,
  Settings2,
  SquareTerminal,
  Table2,
  type LucideIcon,
} from "lucide-react";
import { memo } from "react";
import { extensionOf, nameOf } from "../text/paths.ts";

// A file's icon shows its language by letters and colour.
export const FileIcon = memo(function FileIcon({ path }: { path: string }) {
  const [mark, tint] = byName.get(nameOf(path).toLowerCase()) ?? byExtension.get(extensionOf(path)) ?? [PlainFile, "muted"];
  if (typeof mark === "string") return <span className="kind glyph" data-tint={tint} data-mark={mark} aria-hidden="true" />;
  const Icon = mark;
  return <Icon size={15} strokeWidth={1.7} className="kind" data-tint={tint} aria-hidden="true" />;
});

type Tint = "blue" | "yellow" | "green" | "purple" | "teal" | "red" | "orange" | "muted";
type Kind = [mark: string | LucideIcon, tint: Tint, names: string];

const extensions: Kind[] = [
  ["TS", "blue", "ts mts cts"],
  ["TX", "blue", "tsx"],
  ["JS", "yellow", "js mjs cjs"],
  ["JX", "yellow", "jsx"],
  ["PY", "blue", "py pyi pyw ipynb"],
  ["GO", "teal", "go mod"],
  ["RS", "orange", "rs"],
  ["JV", "red", "java"],
  ["KT", "purple", "kt kts"],
  ["C", "blue", "c h"],
  ["C+", "blue", "cc cpp cxx hh hpp"],
  ["C#", "green", "cs"],
  ["RB", "red", "rb"],
  ["PH", "purple", "php"],
  ["SW", "orange", "swift"],
  ["EX", "purple", "ex exs"],
  ["LU", "blue", "lua"],
  ["<>", "orange", "html htm xml xhtml"],
  ["#", "blue", "css"],
  ["#", "red", "scss sass less"],
  ["V", "green", "vue"],
  ["S", "orange", "svelte"],
  ["DB", "teal", "sql db sqlite"],
  ["M↓", "teal", "md markdown mdx"],
  [Braces, "yellow", "json jsonc json5"],
  [Settings2, "purple", "yaml yml toml ini cfg conf properties editorconfig"],
  [PlainFile, "muted", "lock"],
  [FileText, "muted", "txt rst log"],
  [FileImage, "purple", "png jpg jpeg gif webp avif svg ico bmp"],
  [SquareTerminal, "green", "sh bash zsh fish"],
  [Table2, "green", "csv tsv"],
  [FileText, "red", "pdf"],
  ["♫", "orange", "mp3 wav ogg oga flac m4a aac opus"],
  ["▶", "orange", "mp4 webm mov m4v ogv mkv"],
  ["Z", "muted", "zip gz tgz tar bz2 xz zst 7z"],
];

const names: Kind[] = [
  ["DK", "blue", "dockerfile containerfile .dockerignore"],
  ["MK", "muted", "makefile justfile"],
  [GitBranch, "orange", ".gitignore .gitattributes .gitmodules"],
  [PlainFile, "muted", "package-lock.json"],
  [Settings2, "yellow", ".env"],
];

const indexed = (kinds: Kind[]) =>
  new Map(kinds.flatMap(([mark, tint, each]) => each.split(" ").map((name) => [name, [mark, tint] as const] as const)));
const byExtension = indexed(extensions);
const byName = indexed(names);
