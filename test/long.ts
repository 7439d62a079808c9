// What is left to `npm run test:long`, and which seeds this run uses.

/** The long run does everything: all seeds, and the tests that take minutes. */
export const isLongRun: boolean = process.env.TEST_LONG === '1'

/** For `skip`. */
export const onlyInLongRun: string | false = isLongRun ? false : 'only in npm run test:long'

const seedsPerRun = 25

/** The first of the seeds that rotate from run to run; test/run.ts prints and sets it. */
const firstSeed = Number(process.env.TEST_SEED ?? 0)

/** All of `count` seeds in the long run, otherwise the next few of them. */
export const seedsOf = (count: number, perRun = seedsPerRun): number[] =>
  Array.from({ length: isLongRun ? count : Math.min(count, perRun) }, (_, index) => (firstSeed + index) % count)
