// Returns a function that names the repositories in git's messages by their own URLs. git itself reaches them through a relay in the
// sandbox (`insteadOf`), whose address tells a person nothing.
export function upstreamUrls(env: Record<string, string | undefined>): (text: string) => string {
  const count = Number(env["GIT_CONFIG_COUNT"] ?? 0);
  const replaced = Array.from({ length: count }, (_, i): [relay: string, upstream: string][] => {
    const [, relay] = /^url\.(.+)\.insteadof$/i.exec(env[`GIT_CONFIG_KEY_${i}`] ?? "") ?? [];
    return relay === undefined ? [] : [[relay, env[`GIT_CONFIG_VALUE_${i}`] ?? ""]];
  }).flat();
  return (text) => replaced.reduce((shown, [relay, upstream]) => shown.replaceAll(relay, upstream), text);
}
