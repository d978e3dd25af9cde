// Matches the stored groups with the existing terminals: closed terminals leave their group, and each new one gets its own.
export function arrangeGroups(groups: readonly string[][], ids: readonly string[]): string[][] {
  const kept = groups.map((group) => group.filter((id) => ids.includes(id))).filter((group) => group.length > 0);
  const placed = new Set(kept.flat());
  return [...kept, ...ids.filter((id) => !placed.has(id)).map((id) => [id])];
}

// Moves a terminal next to another one.
export function placeBeside(groups: readonly string[][], id: string, neighbour: string): string[][] {
  if (!groups.some((group) => group.includes(neighbour))) return groups.map((group) => [...group]);
  return groups
    .map((group) => group.filter((member) => member !== id).flatMap((member) => (member === neighbour ? [member, id] : [member])))
    .filter((group) => group.length > 0);
}
