// Runs inside a sandbox and searches the memory of every process with a given name for texts, as far as the sandbox's user
// can read it. Each text is passed in two parts, so that the search does not find its own command line.
const fs = require("node:fs");

const [name, ...parts] = process.argv.slice(2);
const texts = Array.from({ length: parts.length / 2 }, (_, at) => Buffer.from(parts[2 * at] + parts[2 * at + 1]));
const found = texts.map(() => 0);
const PAGE = 4096;
// One read of the page map, in entries of 8 bytes: half a gigabyte of addresses.
const ENTRIES = 131072;
const MAX_RUN_PAGES = 16384;

let searchedPages = 0;
for (const pid of fs.readdirSync("/proc").filter((entry) => /^\d+$/.test(entry) && entry !== String(process.pid))) {
  try {
    if (fs.readFileSync(`/proc/${pid}/comm`, "utf8").trim() === name) search(pid);
  } catch {
    // The process has just ended.
  }
}
console.log(searchedPages > 0 ? `searched, found ${found.join(" ")}` : "nothing to search");

function search(pid) {
  const memory = fs.openSync(`/proc/${pid}/mem`, "r");
  const pageMap = fs.openSync(`/proc/${pid}/pagemap`, "r");
  for (const line of fs.readFileSync(`/proc/${pid}/maps`, "utf8").split("\n")) {
    const match = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line);
    if (match) for (const run of presentPages(pageMap, parseInt(match[1], 16) / PAGE, parseInt(match[2], 16) / PAGE)) look(memory, run);
  }
  fs.closeSync(memory);
  fs.closeSync(pageMap);
}

// Some programs reserve far more addresses than any machine has memory, so only the pages in memory are read.
function* presentPages(pageMap, from, to) {
  const bytes = Buffer.alloc(ENTRIES * 8);
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, ENTRIES * 2);
  let start = null;
  for (let page = from; page < to; page += ENTRIES) {
    const count = Math.min(ENTRIES, to - page);
    fs.readSync(pageMap, bytes, 0, count * 8, page * 8);
    for (let at = 0; at < count; at++) {
      const isPresent = words[at * 2 + 1] >>> 31 === 1;
      if (isPresent && start === null) start = page + at;
      if (start !== null && (!isPresent || page + at - start >= MAX_RUN_PAGES)) {
        // Runs overlap by one page, so that no text is cut in two.
        yield { start, pages: page + at - start + (isPresent ? 1 : 0) };
        start = isPresent ? page + at : null;
      }
    }
  }
  if (start !== null) yield { start, pages: to - start };
}

function look(memory, { start, pages }) {
  const bytes = Buffer.alloc(pages * PAGE);
  try {
    fs.readSync(memory, bytes, 0, bytes.length, start * PAGE);
  } catch {
    return;
  }
  searchedPages += pages;
  for (const [at, text] of texts.entries()) if (bytes.includes(text)) found[at]++;
}
