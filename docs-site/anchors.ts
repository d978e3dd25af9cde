// The anchors of a document's headings, by GitHub's rule: lower case, punctuation removed, spaces become hyphens, and a number for a
// heading that occurs again. So a link with an anchor works on a code host and in the documentation.
export function createAnchors(): (title: string) => string {
  const seen = new Map<string, number>();
  return (title) => {
    const anchor = title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .trim()
      .replace(/\s/g, "-");
    const count = seen.get(anchor) ?? 0;
    seen.set(anchor, count + 1);
    return count === 0 ? anchor : `${anchor}-${count}`;
  };
}
