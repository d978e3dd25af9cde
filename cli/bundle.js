import { createHash } from "node:crypto";
import { subscribe } from "node:diagnostics_channel";
import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { cachedDataVersionTag } from "node:v8";
import { constants, Script } from "node:vm";
import { resetLateFlags, setLateFlags } from "./server-flags.js";

// The exports of the bundle that scripts/bundle-server.ts made. Undefined if there is none, or if a source or a package has changed since.
// The server and the other commands run different functions, so each keeps its own compiled code.
export function loadBundle(purpose) {
  const path = currentBundle();
  if (path === undefined) return undefined;
  const cache = cacheFile(path, purpose);
  const cachedData = readCache(cache);
  const script = new Script(`(function (exports, require, module, __filename, __dirname) {${readFileSync(path, "latin1")}\n})`, {
    filename: path,
    cachedData,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  if (cachedData === undefined || script.cachedDataRejected) writeCacheLater(cache, script, purpose);
  const module = { exports: {} };
  script.runInThisContext()(module.exports, createRequire(path), module, path, dirname(path));
  return module.exports;
}

export function currentBundle() {
  try {
    const { entry, sources } = JSON.parse(read("dist/bundle.json"));
    return sources.every(isUnchanged) ? fileURLToPath(new URL(`dist/${entry}`, import.meta.url)) : undefined;
  } catch {
    // Something is missing.
    return undefined;
  }
}

// A copy or a checkout changes the time but not the text.
function isUnchanged({ path, size, changedMs, hash }) {
  const found = statSync(new URL(`../${path}`, import.meta.url));
  if (found.size !== size) return false;
  return (
    Math.floor(found.mtimeMs) === changedMs ||
    createHash("sha1")
      .update(read(`../${path}`))
      .digest("hex") === hash
  );
}

const read = (path) => readFileSync(new URL(path, import.meta.url), "utf8");

// V8 does not compare the text with the compiled code, so the name contains the hash in the bundle's name. The tag stands for Node's
// version and flags.
function cacheFile(path, purpose) {
  const folder = fileURLToPath(new URL("../node_modules/.cache/berth/code", import.meta.url));
  return join(folder, `${purpose}-${basename(path, ".cjs")}-${cachedDataVersionTag()}`);
}

function readCache(file) {
  try {
    return readFileSync(file);
  } catch {
    // No process has written it yet.
    return undefined;
  }
}

// Node's own compile cache holds no function that is compiled when it is first called, which is most of them. The server stores its code
// a minute after its start, with that of the first requests, or at its end if that is earlier.
const STORE_MS = 60_000;

function writeCacheLater(file, script, purpose) {
  const write = () => {
    clearTimeout(timer);
    process.off("exit", write);
    resetLateFlags();
    writeCache(file, script.createCachedData(), purpose);
    setLateFlags();
  };
  let timer;
  if (purpose !== "serve") process.once("exit", () => writeCache(file, script.createCachedData(), purpose));
  else {
    subscribe("berth:started", () => {
      timer = setTimeout(write, STORE_MS).unref();
      process.once("exit", write);
    });
  }
}

function writeCache(file, code, purpose) {
  try {
    const folder = dirname(file);
    mkdirSync(folder, { recursive: true });
    writeFileSync(`${file}.${process.pid}`, code);
    renameSync(`${file}.${process.pid}`, file);
    const isOld = (name) => name.startsWith(`${purpose}-`) && name !== basename(file);
    for (const name of readdirSync(folder).filter(isOld)) rmSync(join(folder, name), { force: true });
  } catch {
    // Without a writable folder, every start compiles.
  }
}
