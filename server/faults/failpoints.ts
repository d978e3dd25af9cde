// Points at which tests make the server fail. BERTH_TEST_FAILPOINT selects one, as `name` or as `name:N` for the Nth time that
// it is reached; without the variable a fail point is a no-op. The process then ends as with `kill -9`. With
// BERTH_TEST_FAILPOINT_ACTION=throw or =reject it instead throws or rejects outside of the calling code, where nothing catches
// the error. Read from the environment and not from the configuration, because it is no setting for operators.
const [wanted, nth = "1"] = (process.env.BERTH_TEST_FAILPOINT ?? "").split(":");
let remaining = Number(nth);

export const failpoint: (name: string) => void = wanted
  ? (name) => {
      if (name === wanted && --remaining === 0) fail();
    }
  : () => {};

function fail(): void {
  const error = () => new Error(`fail point ${wanted}`);
  const action = process.env.BERTH_TEST_FAILPOINT_ACTION;
  if (action === "throw")
    setImmediate(() => {
      throw error();
    });
  else if (action === "reject") void Promise.reject(error());
  else process.kill(process.pid, "SIGKILL");
}
