const BROWSERS = [
  [/\bEdgA?\/(\d+)/, "Edge"],
  [/\bOPR\/(\d+)/, "Opera"],
  [/\b(?:Firefox|FxiOS)\/(\d+)/, "Firefox"],
  [/\b(?:Chrome|CriOS|HeadlessChrome)\/(\d+)/, "Chrome"],
  [/\bVersion\/(\d+)[.\d]* (?:Mobile\/\w+ )?Safari\//, "Safari"],
] as const;
const SYSTEMS = [
  [/\bAndroid\b/, "Android"],
  [/\b(iPhone|iPad|iPod)\b/, "iOS"],
  [/\bWindows\b/, "Windows"],
  [/\bMac OS X\b/, "macOS"],
  [/\bCrOS\b/, "ChromeOS"],
  [/\bLinux\b/, "Linux"],
] as const;
const MAX_READ = 500;
const MAX_LENGTH = 60;

// A User-Agent header for people: "Firefox 128 on Linux". The beginning of the header if the program is unknown.
export function shortenAgent(header: string | undefined): string {
  const given = (header ?? "").slice(0, MAX_READ);
  const system = SYSTEMS.find(([pattern]) => pattern.test(given))?.[1];
  for (const [pattern, name] of BROWSERS) {
    const version = pattern.exec(given)?.[1];
    if (version !== undefined) return system === undefined ? `${name} ${version}` : `${name} ${version} on ${system}`;
  }
  return given.replace(/[^\x20-\x7e]/g, "").slice(0, MAX_LENGTH) || "unknown";
}
