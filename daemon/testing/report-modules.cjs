// Loaded into a daemon with `--require`. At SIGUSR2 it writes the names of the modules of Node that are loaded to the file that
// BERTH_MODULES_FILE names.
const { renameSync, writeFileSync } = require("node:fs");

process.on("SIGUSR2", () => {
  const names = process.moduleLoadList.filter((name) => name.startsWith("NativeModule ")).map((name) => name.slice("NativeModule ".length));
  const file = process.env.BERTH_MODULES_FILE;
  writeFileSync(`${file}.part`, JSON.stringify(names));
  renameSync(`${file}.part`, file);
});
