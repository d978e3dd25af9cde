import "../styles/editor/diff.css";
import { FileQuestion } from "lucide-react";
import type { ReactNode } from "react";
import { useSandbox } from "../state/context.ts";
import { isImage } from "../state/documents/content.ts";
import type { OpenFile } from "../state/documents/open-files.ts";
import type { Original } from "../state/documents/original.ts";
import { formatBytes, nameOf } from "../text/paths.ts";

// Compares two versions of a file that is not a text: as pictures, or by their sizes.
export function BinaryDiff({ path, original, current }: { path: string; original: Original; current: OpenFile }) {
  const { api } = useSandbox();
  if (!isImage(path))
    return (
      <div className="empty">
        <FileQuestion size={32} strokeWidth={1.4} />
        <h2>{nameOf(path)} is not a text file</h2>
        <p>
          Before: {sizeBefore(original)}. Now: {sizeNow(current)}.
        </p>
      </div>
    );
  const version = current.kind === "image" ? current.version : "";
  return (
    <div className="image-diff">
      <Side label="Before">
        {original.kind === "none" ? "No file" : <img src={api.originalUrl(path)} alt={`${nameOf(path)}, before`} />}
      </Side>
      <Side label="Now">
        {current.kind === "failed" ? (
          "Deleted"
        ) : (
          <img src={`${api.fileUrl(path)}&version=${encodeURIComponent(version)}`} alt={`${nameOf(path)}, now`} />
        )}
      </Side>
    </div>
  );
}

const Side = ({ label, children }: { label: string; children: ReactNode }) => (
  <figure>
    <figcaption>{label}</figcaption>
    {children}
  </figure>
);

function sizeBefore(original: Original): string {
  if (original.kind === "none") return "no file";
  return original.kind === "binary" ? formatBytes(original.size) : "a text file";
}

function sizeNow(current: OpenFile): string {
  if ("size" in current) return formatBytes(current.size);
  return current.kind === "failed" ? "deleted" : "a text file";
}
