import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { batchesOf, batchesOfOtherClients, clientsCount, groupOf, type TestGroup } from './groups.ts'
import { dialects } from './simulator/dialects.ts'
import { profiles } from './simulator/profiles.ts'
import { summaryOf } from './summary.ts'

const root = new URL('..', import.meta.url).pathname

test('the group of a test file follows from the helpers it imports', () => {
  assert.equal(groupOf(root, 'console/pages/explorer.test.ts'), 'browser')
  assert.equal(groupOf(root, 'server/storage/postgres/postgres.test.ts'), 'databases')
  assert.equal(groupOf(root, 'cli/main.test.ts'), 'commands')
  assert.equal(groupOf(root, 'server/core/decimal.test.ts'), 'unit')
})

test('every file is in exactly one batch, and the longest start first', () => {
  const files = Array.from({ length: 40 }, (_, index) => `server/core/${index}.test.ts`)
  const inGroup = (group: TestGroup, list: readonly string[]) => batchesOf(new Map([[group, list]]))
  const unit = inGroup('unit', [...files, 'server/markets/records/source-time.test.ts'])
  assert.deepEqual(
    unit.flatMap((batch) => batch.files).sort(),
    [...files, 'server/markets/records/source-time.test.ts'].sort(),
  )
  assert.deepEqual(unit.at(-1)?.files, ['server/markets/records/source-time.test.ts'])
  assert.deepEqual(
    batchesOf(
      new Map<TestGroup, string[]>([
        ['unit', ['api/a.test.ts', 'simulator/a.test.ts', 'test/a.test.ts']],
        ['browser', ['console/pages/a.test.ts']],
        ['databases', ['test/on-postgres.test.ts', 'cli/lease.test.ts']],
      ]),
    ).map(({ name }) => name),
    ['browser', 'test', 'simulator', 'test/on-postgres.test.ts', 'api', 'cli/lease.test.ts'],
  )
  assert.ok(unit.every((batch) => batch.files.length <= 24))
  assert.ok(inGroup('databases', files).every((batch) => batch.files.length === 1))
  assert.ok(inGroup('commands', files).every((batch) => batch.files.length <= 8))
})

test('the summary counts results and lists costly files, skipped tests and failures', () => {
  const text = summaryOf(
    [
      { file: 'server/core/a.test.ts', name: 'adds', outcome: 'passed', cpuMs: 2500 },
      { file: 'server/core/b.test.ts', name: 'outer', outcome: 'suite', cpuMs: 100 },
      { file: 'server/core/b.test.ts', name: 'waits', outcome: 'skipped', reason: 'only in npm run test:long' },
      { file: 'server/core/b.test.ts', name: 'breaks', outcome: 'failed', reason: 'Error: broken' },
    ],
    ['group browser: the console in Chromium'],
  )
  assert.match(text, /server\/core +1 tests in 1 files/)
  assert.match(text, /2\.5 s {2}server\/core\/a\.test\.ts/)
  assert.match(
    text,
    /LEFT OUT:\n {2}group browser: .*\n {2}server\/core\/b\.test\.ts: waits \(only in npm run test:long\)/,
  )
  assert.match(text, /✖ server\/core\/b\.test\.ts: breaks\n {4}Error: broken/)
  assert.match(text, /\n1 passed, 1 failed, 1 skipped\n/)
})

test('the long run repeats the files with a simulated node until every client was used', () => {
  assert.equal(clientsCount, Object.keys(profiles).length)
  assert(clientsCount >= dialects.length)
  const files = ['server/validators/ingest/start.test.ts', 'server/core/decimal.test.ts']
  const repeated = batchesOfOtherClients(root, new Map([['unit', files]]), 9)
  assert.deepEqual(
    repeated.map(({ client }) => client),
    [4, 5, 0, 1, 2],
  )
  for (const batch of repeated) assert.deepEqual(batch.files, files.slice(0, 1))
})

const runFiles = (...files: string[]) =>
  spawnSync(process.execPath, ['test/run.ts', ...files], { cwd: root, encoding: 'utf8' })

test('a run fails if a process ends before all its tests have run', () => {
  const { status, stdout } = runFiles('test/exits-early.ts')
  assert.match(stdout, /✖ test\/exits-early\.ts: test ended with 0\n/)
  assert.equal(status, 1)
})

test('an uncaught error fails the test that caused it, and notes about the process are shown', () => {
  const { status, stdout } = runFiles('test/throws-late.ts')
  assert.match(stdout, /✖ test\/throws-late\.ts: throws in a timer of a suite\n +Error: in a timer\n/)
  assert.match(stdout, /\n +The simulated beacon node is teku/)
  assert.match(stdout, /\n1 passed, 1 failed, 0 skipped\n/)
  assert.equal(status, 1)
})

test('a run ends and fails if a test leaves something open', () => {
  const { status, stdout } = runFiles('test/leaves-open.ts')
  assert.match(stdout, /✖ test\/leaves-open\.ts: test ended with 1\n/)
  assert.match(stdout, /\n +A test left something open: .*Timeout/)
  assert.equal(status, 1)
})

test('a process that fails runs once more alone, and the summary names what passed only then', () => {
  const { status, stdout } = runFiles('test/fails-once.ts', 'server/core/age.test.ts')
  assert.match(stdout, /▸ Repeated alone: test\n/)
  assert.match(
    stdout,
    /UNSTABLE, passed only alone: test\/fails-once\.ts: passes the second time\n +AssertionError.*too early/,
  )
  assert.match(stdout, /\n[1-9]\d* passed, 0 failed, 0 skipped\n/)
  assert.equal(status, 0)
})
