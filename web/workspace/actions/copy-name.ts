// A free name for a copy beside the original: "a.txt" becomes "a copy.txt", then "a copy 2.txt".
export function copyName(name: string, isFree: (name: string) => boolean): string {
  const dot = name.lastIndexOf(".");
  const [stem, extension] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ""];
  const base = stem.replace(/ copy( \d+)?$/, "");
  for (let count = 1; ; count++) {
    const candidate = `${base} copy${count === 1 ? "" : ` ${count}`}${extension}`;
    if (isFree(candidate)) return candidate;
  }
}
