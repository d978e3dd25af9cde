// Places where the crash suite may kill the server. Off, and free, unless BERTH_TEST_FAILPOINT names one (`name` or
// `name:N` for the Nth time it is passed): then the process dies there as by `kill -9`.
const [wanted, nth = "1"] = (process.env.BERTH_TEST_FAILPOINT ?? "").split(":");
let remaining = Number(nth);

export const failpoint: (name: string) => void = wanted
  ? (name) => {
      if (name === wanted && --remaining === 0) process.kill(process.pid, "SIGKILL");
    }
  : () => {};
