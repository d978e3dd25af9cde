// Places where tests may break the server. Off, and free, unless BERTH_TEST_FAILPOINT names one (`name` or `name:N` for the
// Nth time it is passed). Then the process dies there as by `kill -9`, or, with BERTH_TEST_FAILPOINT_ACTION=throw or
// =reject, an error is thrown or rejected beside the code that passes, where nothing catches it.
const [wanted, nth = "1"] = (process.env.BERTH_TEST_FAILPOINT ?? "").split(":");
let remaining = Number(nth);

export const failpoint: (name: string) => void = wanted
  ? (name) => {
      if (name === wanted && --remaining === 0) breakDown();
    }
  : () => {};

function breakDown(): void {
  const error = () => new Error(`fail point ${wanted}`);
  const action = process.env.BERTH_TEST_FAILPOINT_ACTION;
  if (action === "throw")
    setImmediate(() => {
      throw error();
    });
  else if (action === "reject") void Promise.reject(error());
  else process.kill(process.pid, "SIGKILL");
}
