import { AppError } from "@berth/contract";
import { expect, test } from "vitest";
import { withDriverErrors } from "./driver-errors.ts";

const never = new AbortController().signal;
const reject = (error: unknown) => () => Promise.reject(error as Error);
const withCode = (code: string) => Object.assign(new Error(code), { code });

test("an unknown error becomes sandbox_failed, with the error as its cause", async () => {
  const cause = new Error("broken");
  await expect(withDriverErrors(never, reject(cause))).rejects.toMatchObject({ code: "sandbox_failed", cause });
});

test.each(["EMFILE", "ENFILE", "ENOMEM", "EAGAIN"])("%s becomes capacity_reached", async (code) => {
  await expect(withDriverErrors(never, reject(withCode(code)))).rejects.toMatchObject({ code: "capacity_reached" });
});

test.each([withCode("ENOSPC"), withCode("EDQUOT"), new Error("cp ended with 1: cp: error writing 'a': No space left on device")])(
  "%s becomes server_disk_full",
  async (error) => {
    await expect(withDriverErrors(never, reject(error))).rejects.toMatchObject({ code: "server_disk_full", cause: error });
  },
);

test("an AppError is not changed", async () => {
  const error = new AppError("engine_unavailable");
  await expect(withDriverErrors(never, reject(error))).rejects.toBe(error);
});

test("after an abort the call rejects with the reason, unless there was no capacity", async () => {
  const failAfterAbort = (error: Error) => {
    const controller = new AbortController();
    return withDriverErrors(controller.signal, () => {
      controller.abort(new Error("gave up"));
      return Promise.reject(error);
    });
  };
  await expect(failAfterAbort(new AppError("sandbox_failed"))).rejects.toThrow("gave up");
  await expect(failAfterAbort(new AppError("capacity_reached"))).rejects.toMatchObject({ code: "capacity_reached" });
});

test("an aborted signal prevents the work", async () => {
  const work = async () => expect.unreachable();
  await expect(withDriverErrors(AbortSignal.abort(new Error("gave up")), work)).rejects.toThrow("gave up");
});
