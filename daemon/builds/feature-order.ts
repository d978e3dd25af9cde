import type { Feature } from "./feature.ts";

// The order in which features are installed, as the specification of features says: in rounds, each of which has those features that wait for
// no other one. Of these, the first one in `installOrder` is installed alone, and others in the order of their names. A circle is refused.
export function orderFeatures(features: readonly Feature[], installOrder: readonly string[]): Feature[] {
  const rank = (feature: Feature) => {
    const at = installOrder.findIndex((id) => isNamed(feature, id));
    return at < 0 ? installOrder.length : at;
  };
  let waiting = features.toSorted((a, b) => compareNames(a.id, b.id));
  const ordered: Feature[] = [];
  while (waiting.length > 0) {
    const ready = waiting.filter((feature) => !waiting.some((other) => other !== feature && follows(feature, other)));
    if (ready.length === 0) throw new Error(`These features wait for each other: ${waiting.map(({ id }) => id).join(", ")}.`);
    const first = Math.min(...ready.map(rank));
    const round = ready.filter((feature) => rank(feature) === first);
    ordered.push(...round);
    waiting = waiting.filter((feature) => !round.includes(feature));
  }
  return ordered;
}

// Not as a language sorts, so that the order is the same everywhere.
const compareNames = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const follows = (feature: Feature, other: Feature): boolean =>
  feature.dependsOn.some(({ id }) => isNamed(other, id)) || feature.installsAfter.some((id) => isNamed(other, id));

// installsAfter and overrideFeatureInstallOrder name features without a version, and local ones by the id that they have.
const isNamed = ({ id, ownId }: Feature, name: string): boolean =>
  withoutVersion(id) === withoutVersion(name) || (id.startsWith(".") && ownId === name);

const withoutVersion = (id: string): string => id.replace(/(?<=[^/]):[^/:]*$|@sha256:[0-9a-f]+$/, "");
