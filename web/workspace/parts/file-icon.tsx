import { memo } from "react";
import { extensionOf, nameOf } from "../text/paths.ts";

// A file's icon shows its language by letters and colour.
export const FileIcon = memo(function FileIcon({ path }: { path: string }) {
  const [mark, tint] = byName.get(nameOf(path).toLowerCase()) ?? byExtension.get(extensionOf(path)) ?? [PlainFile, "muted"];
  if (typeof mark === "string") return <span className="kind glyph" data-tint={tint} data-mark={mark} aria-hidden="true" />;
  return (
    <svg className="kind" data-tint={tint} viewBox="0 0 24 24" aria-hidden="true">
      <path d={mark.path} />
    </svg>
  );
});

// A drawing is a single path, because the tree shows 40 of them at once and every element costs time.
interface Drawing {
  path: string;
}

const SHEET = "M14 2H6a2 2 0 0 0-2 2v16a2 2 0 0 0 2 2h12a2 2 0 0 0 2-2V8zM14 2v6h6";
const PlainFile: Drawing = { path: SHEET };
const FileText: Drawing = { path: `${SHEET}M8 13h8M8 17h8` };
const FileImage: Drawing = { path: `${SHEET}M9 12h.01M7 19l5-5 5 5` };
const Braces: Drawing = {
  path: "M8 3H7a2 2 0 0 0-2 2v5a2 2 0 0 1-2 2 2 2 0 0 1 2 2v5a2 2 0 0 0 2 2h1M16 21h1a2 2 0 0 0 2-2v-5a2 2 0 0 1 2-2 2 2 0 0 1-2-2V5a2 2 0 0 0-2-2h-1",
};
const Sliders: Drawing = { path: "M20 7h-9M14 17H5M17 14a3 3 0 1 0 0 6 3 3 0 1 0 0-6zM7 4a3 3 0 1 0 0 6 3 3 0 1 0 0-6z" };
const Prompt: Drawing = {
  path: "M5 3h14a2 2 0 0 1 2 2v14a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2V5a2 2 0 0 1 2-2zM7 11l2-2-2-2M11 13h4",
};
const Table: Drawing = { path: "M5 3h14a2 2 0 0 1 2 2v14a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2V5a2 2 0 0 1 2-2zM3 9h18M3 15h18M10 9v12" };
const Branch: Drawing = { path: "M6 3v12M18 9a9 9 0 0 1-9 9M18 3a3 3 0 1 0 0 6 3 3 0 1 0 0-6zM6 15a3 3 0 1 0 0 6 3 3 0 1 0 0-6z" };

type Tint = "blue" | "yellow" | "green" | "purple" | "teal" | "red" | "orange" | "muted";
type Kind = [mark: string | Drawing, tint: Tint, names: string];

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
  [Sliders, "purple", "yaml yml toml ini cfg conf properties editorconfig"],
  [PlainFile, "muted", "lock"],
  [FileText, "muted", "txt rst log"],
  [FileImage, "purple", "png jpg jpeg gif webp avif svg ico bmp"],
  [Prompt, "green", "sh bash zsh fish"],
  [Table, "green", "csv tsv"],
  [FileText, "red", "pdf"],
  ["♫", "orange", "mp3 wav ogg oga flac m4a aac opus"],
  ["▶", "orange", "mp4 webm mov m4v ogv mkv"],
  ["Z", "muted", "zip gz tgz tar bz2 xz zst 7z"],
];

const names: Kind[] = [
  ["DK", "blue", "dockerfile containerfile .dockerignore"],
  ["MK", "muted", "makefile justfile"],
  [Branch, "orange", ".gitignore .gitattributes .gitmodules"],
  [PlainFile, "muted", "package-lock.json"],
  [Sliders, "yellow", ".env"],
];

const indexed = (kinds: Kind[]) =>
  new Map(kinds.flatMap(([mark, tint, each]) => each.split(" ").map((name) => [name, [mark, tint] as const] as const)));
const byExtension = indexed(extensions);
const byName = indexed(names);
