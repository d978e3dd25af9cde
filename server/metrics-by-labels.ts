import type { Counter, Histogram } from "prom-client";

// prom-client makes a text of all labels for every observation, which costs more than the observation. A caller that observes for every
// request gets a function here that does this once for each combination of labels.

// `label` returns the labels for the values with which the returned function is called.
export function observeByLabels<Name extends string, Values extends LabelValues>(
  histogram: Histogram<Name>,
  label: (...values: Values) => Record<Name, string | number>,
): (value: number, ...values: Values) => void {
  const { upperBounds } = histogram as unknown as Internals<BucketEntry>;
  // The names of the buckets, because a number would be converted for every observation.
  const bucketNames = upperBounds.map(String);
  const entryOf = rememberByValues((...values: Values) => {
    const labels = label(...values);
    histogram.zero(labels);
    return entryWith(histogram as unknown as Internals<BucketEntry>, labels);
  });
  return (value, ...values) => {
    const entry = entryOf(values);
    entry.sum += value;
    entry.count++;
    let bucket = 0;
    while (bucket < upperBounds.length && value > upperBounds[bucket]!) bucket++;
    if (bucket < upperBounds.length) entry.bucketValues[bucketNames[bucket]!]!++;
  };
}

export function countByLabels<Name extends string, Values extends LabelValues>(
  counter: Counter<Name>,
  label: (...values: Values) => Record<Name, string | number>,
): (...values: Values) => void {
  const entryOf = rememberByValues((...values: Values) => {
    const labels = label(...values);
    counter.inc(labels, 0);
    return entryWith(counter as unknown as Internals<CountEntry>, labels);
  });
  return (...values) => void entryOf(values).value++;
}

type LabelValues = (string | number)[];

// The values that prom-client keeps for each combination of labels. Its version is pinned, and metrics-by-labels.test.ts fails if another
// one keeps others.
interface Internals<Entry> {
  hashMap: Record<string, Entry & { labels: object }>;
  upperBounds: number[];
}

interface BucketEntry {
  sum: number;
  count: number;
  bucketValues: Record<string, number>;
}

interface CountEntry {
  value: number;
}

function entryWith<Entry>({ hashMap }: Internals<Entry>, labels: object): Entry {
  const entry = Object.values(hashMap).find((one) => one.labels === labels);
  if (!entry) throw new Error("prom-client keeps its values in another form");
  return entry;
}

type Branch<Entry> = Map<string | number, Branch<Entry> | Entry>;

// One map for each label: a key of all values would have to be hashed for every observation.
function rememberByValues<Values extends LabelValues, Entry>(make: (...values: Values) => Entry): (values: Values) => Entry {
  const root: Branch<Entry> = new Map();
  return (values) => {
    let found: Branch<Entry> | Entry | undefined = root;
    for (let i = 0; i < values.length && found !== undefined; i++) found = (found as Branch<Entry>).get(values[i]!);
    return (found as Entry | undefined) ?? remember(values);
  };

  function remember(values: Values): Entry {
    const entry = make(...values);
    let branch = root;
    for (const value of values.slice(0, -1)) {
      let next = branch.get(value) as Branch<Entry> | undefined;
      if (!next) branch.set(value, (next = new Map()));
      branch = next;
    }
    branch.set(values.at(-1)!, entry);
    return entry;
  }
}
