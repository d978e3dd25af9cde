import dns from "node:dns";

// Makes Node resolve names below localhost as browsers do. The system may not know them. docs/e2b.md shows the same lines.
export function resolveLocalhost(): Disposable {
  const { lookup } = dns;
  const resolve = (name: string, ...rest: never[]) =>
    Reflect.apply(lookup, dns, [name.endsWith(".localhost") ? "localhost" : name, ...rest]);
  dns.lookup = resolve as typeof lookup;
  return { [Symbol.dispose]: () => void (dns.lookup = lookup) };
}
