import { readFileSync } from "node:fs";
import { isAbsolute } from "node:path";

// Points at which tests make the server fail. BERTH_TEST_FAILPOINT selects one, as `name` or as `name:N` for the Nth time that
// it is reached, or as the path of a file that holds the name, which a test may change while the server runs. Without the variable a
// fail point is a no-op. The process then ends as with `kill -9`. With BERTH_TEST_FAILPOINT_ACTION=throw or =reject it instead
// throws or rejects outside of the calling code, where nothing catches the error. Read from the environment and not from the
// configuration, because it is no setting for operators.
const selected = process.env.BERTH_TEST_FAILPOINT ?? "";
const [wanted, nth = "1"] = selected.split(":");
let remaining = Number(nth);

export const failpoint: (name: string) => void =
  selected === ""
    ? () => {}
    : isAbsolute(selected)
      ? (name) => {
          if (name === readFileSync(selected, "utf8")) fail(name);
        }
      : (name) => {
          if (name === wanted && --remaining === 0) fail(name);
        };

function fail(name: string): void {
  const error = () => new Error(`fail point ${name}`);
  const action = process.env.BERTH_TEST_FAILPOINT_ACTION;
  if (action === "throw")
    setImmediate(() => {
      throw error();
    });
  else if (action === "reject") void Promise.reject(error());
  else process.kill(process.pid, "SIGKILL");
}
