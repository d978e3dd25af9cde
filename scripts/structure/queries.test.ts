import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const QUERY = /from "kysely"|\.(selectFrom|updateTable|insertInto|deleteFrom)\(|\bsql`|\bsql</;

// Tests may look at rows directly.
const PRODUCT = globSync("{cli,server}/**/*.ts", { cwd: root })
  .filter((file) => !/node_modules|\.test\.ts$|\.suite\.ts$|\/testing(\/|\.ts$)/.test(file))
  .map((file) => ({ file, text: readFileSync(join(root, file), "utf8") }));

test("only server/store builds queries", () => {
  const outside = PRODUCT.filter(({ file }) => !file.startsWith("server/store/"));
  expect(outside.length).toBeGreaterThan(100);
  expect(outside.filter(({ text }) => QUERY.test(text)).map(({ file }) => file)).toEqual([]);
});

test("only transitions.ts moves a session's row, and only the pool's folder and a recovery insert or claim one", () => {
  const users = PRODUCT.flatMap(({ file, text }) => {
    const names = /import \{([^}]*)\} from "[^"]*\/sessions\/write\.ts"/.exec(text)?.[1] ?? "";
    const functions = names.split(",").flatMap((name) => (/^\s*(\w+)\s*$/.exec(name)?.[1] ? [name.trim()] : []));
    return functions.map((name) => `${name} in ${file}`);
  });
  expect(users.toSorted()).toEqual([
    "claimWarm in server/sessions/pool/reserve.ts",
    "deleteSession in server/sessions/states/transitions.ts",
    "insertRecovered in server/sessions/quarantine/recover.ts",
    "insertSession in server/sessions/pool/pool.ts",
    "insertSession in server/sessions/pool/reserve.ts",
    "moveSession in server/sessions/states/transitions.ts",
    "releaseLease in server/sessions/states/transitions.ts",
    "updateSession in server/sessions/states/transitions.ts",
  ]);
});

test("only write.ts and the statements that bulk-triggers.test.ts compares with the table write rows of sessions", () => {
  const writers = PRODUCT.filter(({ file }) => file.startsWith("server/store/") && !file.includes("/migrations/")).flatMap(
    ({ file, text }) => {
      const statements = text.split(/\b(?:updateTable|deleteFrom)\("sessions"\)|\b(?:update|delete from) sessions\b/).length - 1;
      return statements > 0 && file !== "server/store/sessions/write.ts" ? [`${statements} in ${file}`] : [];
    },
  );
  expect(writers.toSorted()).toEqual([
    "1 in server/store/sessions/purge.ts",
    "1 in server/store/sessions/rules.ts",
    "1 in server/store/sessions/sealed-values.ts",
    "2 in server/store/sessions/idle.ts",
  ]);
});
