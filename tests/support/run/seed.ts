import fc from "fast-check";

// Property tests check the same cases in every run, so that a failure belongs to the change that caused it. To look for new cases:
// BERTH_TEST_SEED=$RANDOM npm test.
fc.configureGlobal({ seed: Number(process.env.BERTH_TEST_SEED ?? 1) });
