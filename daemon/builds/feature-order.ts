import type { Feature } from "./feature.ts";

// The order in which features are installed, as the specification of features says. Each round has the features that wait for no other
// feature. Of these, the first one in `installOrder` is installed alone. If none is in it, all are installed, in the order of their names.
// Throws if features wait for each other.
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

// Independent of the locale.
const compareNames = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const follows = (feature: Feature, other: Feature): boolean =>
  feature.dependsOn.some(({ id }) => isNamed(other, id)) || feature.installsAfter.some((id) => isNamed(other, id));

// installsAfter and overrideFeatureInstallOrder name features without a version, and local features by their own id.
const isNamed = ({ id, ownId }: Feature, name: string): boolean =>
  withoutVersion(id) === withoutVersion(name) || (id.startsWith(".") && ownId === name);

const withoutVersion = (id: string): string => id.replace(/(?<=[^/]):[^/:]*$|@sha256:[0-9a-f]+$/, "");
