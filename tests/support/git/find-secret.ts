// A program for a sandbox that looks for a secret in files, in the environments and arguments of all processes, and with `memory` in
// their memory. Its first argument is the secret backwards, so that it does not find itself; the rest are folders. Prints what has it,
// and how much it has read.
export const findSecretScript = (options: { memory: boolean }): string => `
const fs = require("node:fs"), path = require("node:path");
const secret = [...process.argv[1]].reverse().join("");
const forms = [secret, Buffer.from("x-access-token:" + secret).toString("base64")].map((form) => Buffer.from(form));
const found = [];
let bytes = 0;
const look = (name, data) => { bytes += data.length; if (forms.some((form) => data.includes(form))) found.push(name); };
const attempt = (work) => { try { work(); } catch {} };
const walk = (folder) => attempt(() => {
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    const name = path.join(folder, entry.name);
    if (entry.isDirectory()) walk(name);
    else if (entry.isFile()) attempt(() => look(name, fs.readFileSync(name)));
  }
});
process.argv.slice(2).forEach(walk);
for (const pid of fs.readdirSync("/proc").filter((name) => /^\\d+$/.test(name))) {
  for (const file of ["environ", "cmdline"]) attempt(() => look(pid + " " + file, fs.readFileSync("/proc/" + pid + "/" + file)));
  if (${options.memory} && pid !== String(process.pid)) attempt(() => {
    const memory = fs.openSync("/proc/" + pid + "/mem", "r");
    for (const line of fs.readFileSync("/proc/" + pid + "/maps", "utf8").split("\\n")) {
      const [, from, to] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? [];
      if (from === undefined) continue;
      const size = Number(BigInt("0x" + to) - BigInt("0x" + from));
      if (size > 64 * 1024 * 1024) continue;
      attempt(() => { const data = Buffer.alloc(size); fs.readSync(memory, data, 0, size, BigInt("0x" + from)); look(pid + " memory", data); });
    }
    fs.closeSync(memory);
  });
}
console.log(JSON.stringify({ found, bytes }));
`;
