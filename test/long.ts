// What only `npm run test:long` runs, and which seeds a run uses.

/** The long run uses all seeds and includes the tests that take minutes. */
export const isLongRun: boolean = process.env.TEST_LONG === '1'

/** For `skip`. */
export const onlyInLongRun: string | false = isLongRun ? false : 'only in npm run test:long'

const seedsPerRun = 25

/** The first seed; it changes from run to run. test/run.ts sets and prints it. */
const firstSeed = Number(process.env.TEST_SEED ?? 0)

/** All `count` seeds in the long run, otherwise the next few. */
export const seedsOf = (count: number, perRun = seedsPerRun): number[] =>
  Array.from({ length: isLongRun ? count : Math.min(count, perRun) }, (_, index) => (firstSeed + index) % count)
