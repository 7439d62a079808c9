// What only `npm run test:long` runs, and which seeds a run uses.

/** The long run uses all seeds and includes the tests that take minutes. */
export const isLongRun: boolean = process.env.TEST_LONG === '1'

/** For `skip`. */
export const onlyInLongRun: string | false = isLongRun ? false : 'only in npm run test:long'

const seedsPerRun = 10

/** The number of the run: it increases from run to run. test/run.ts sets and prints it. */
const runNumber = Number(process.env.TEST_SEED ?? 0)

/** All `count` seeds in the long run, otherwise those that follow the seeds of the run before. */
export function seedsOf(count: number, perRun = seedsPerRun): number[] {
  const length = isLongRun ? count : Math.min(count, perRun)
  return Array.from({ length }, (_, index) => (runNumber * length + index) % count)
}
