// Brings the remembered arrangement in line with the terminals that there are: what is gone leaves its group, what is
// new gets a group of its own, or joins the terminal it was split from.
export function arrangeGroups(
  groups: readonly string[][],
  ids: readonly string[],
  beside: ReadonlyMap<string, string> = new Map(),
): string[][] {
  const there = new Set(ids);
  const kept = groups.map((group) => group.filter((id) => there.has(id))).filter((group) => group.length > 0);
  const placed = new Set(kept.flat());
  for (const id of ids.filter((candidate) => !placed.has(candidate))) {
    const neighbour = beside.get(id);
    const group = kept.find((members) => neighbour !== undefined && members.includes(neighbour));
    if (group && neighbour !== undefined) group.splice(group.indexOf(neighbour) + 1, 0, id);
    else kept.push([id]);
  }
  return kept;
}
