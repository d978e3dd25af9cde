import { ChevronRight } from "lucide-react";
import { Fragment } from "react";
import { usePage } from "../state/context.ts";

// The path of the open file. Clicking a folder shows it in the tree.
export function PathBar({ path }: { path: string }) {
  const { layout } = usePage();
  const parts = path.split("/");
  const reveal = (depth: number) => {
    layout.expandTo(parts.slice(0, depth + 2).join("/"));
    layout.showSideView("files");
  };
  return (
    <nav className="path-bar" aria-label="File path">
      {parts.slice(0, -1).map((folder, depth) => (
        <Fragment key={parts.slice(0, depth + 1).join("/")}>
          <button type="button" className="truncate" title={`Show ${folder} in the file tree`} onClick={() => reveal(depth)}>
            {folder}
          </button>
          <ChevronRight size={12} />
        </Fragment>
      ))}
      <span className="truncate">{parts.at(-1)}</span>
    </nav>
  );
}
