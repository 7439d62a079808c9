// Tests of `tetrad ingest beacon` and `tetrad validators audit` with a recorded node.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { startOperations } from '#operations/start.ts'
import { systemClock } from '#runtime/clock.ts'
import { silentLog } from '#runtime/log.ts'
import { systemRandom } from '#runtime/random.ts'
import { createContext } from '#server/context.ts'
import { openStores } from '#storage/open.ts'
import { openReplay } from '#test/beacon-replay.ts'
import { settingsWith } from '#test/context.ts'
import { openFolder, runCommand } from '#test/run-command.ts'
import { coveredEpochs } from '#validators/duties/coverage.ts'
import { dutiesOnThisThread } from '#validators/duties/store.ts'
import { storeGapReasons } from '#validators/ingest/gap-reasons.ts'
import { withChainTimes } from '#validators/ingest/read/chain-identity.ts'
import { startBeacon } from '#validators/ingest/start.ts'

async function openScene({ fromEpoch = 0 } = {}) {
  const node = await openReplay()
  const folder = await openFolder()
  const beacon = { urls: [node.url], fromEpoch, everyMs: 3_600_000 }
  const settings = { validators: { networks: { hoodi: { epochsPerHour: 2, epochsPerDay: 4, beacon } } } }
  await writeFile(join(folder.dir, 'tetrad.yaml'), JSON.stringify(settings))
  return {
    dir: folder.dir,
    settings,
    run: (...args: string[]) => runCommand(args, { cwd: folder.dir }),
    async [Symbol.asyncDispose]() {
      await folder[Symbol.asyncDispose]()
      await node[Symbol.asyncDispose]()
    },
  }
}

test('ingest beacon --once reads all finalized epochs, and none when it runs again', async () => {
  await using at = await openScene()
  const first = await at.run('ingest', 'beacon', '--network', 'hoodi', '--once', '--json')
  assert.equal(first.code, 0, first.stderr)
  const { network, until, finalizedEpoch, written } = JSON.parse(first.stdout)
  assert.deepEqual(
    { network, until, finalizedEpoch, written },
    { network: 'hoodi', until: 13, finalizedEpoch: 14, written: 13 },
  )
  const second = await at.run('ingest', 'beacon', '--network', 'hoodi', '--once', '--json')
  assert.equal(JSON.parse(second.stdout).written, 0)
})

test('ingest beacon with a range fills gaps, and none is missing when it runs again', async () => {
  await using at = await openScene({ fromEpoch: 9 })
  await at.run('ingest', 'beacon', '--network', 'hoodi', '--once')
  await at.run('ingest', 'beacon', '--network', 'hoodi', '--from-epoch', '4', '--until-epoch', '5')
  const stores = await openStores(join(at.dir, 'data'))
  await storeGapReasons(stores.state, 'hoodi', [{ from: 5, until: 9, reason: 'the node has no states' }], 0)
  await stores.close()
  const coverage = await at.run('coverage')
  assert.match(coverage.stdout, /\nnetwork hoodi: 5-8 not read: the node has no states\n/)
  assert.match(coverage.stderr, /To fill the gaps, add an archive node to validators\.networks\.hoodi\.beacon\.urls/)
  const range = ['--from-epoch', '4', '--until-epoch', '20']
  const first = await at.run('ingest', 'beacon', '--network', 'hoodi', ...range, '--json')
  assert.equal(first.code, 0, first.stderr)
  const { network, filled, missing } = JSON.parse(first.stdout)
  assert.deepEqual({ network, filled, missing }, { network: 'hoodi', filled: 4, missing: 0 })
  const second = await at.run('ingest', 'beacon', '--network', 'hoodi', ...range)
  assert.match(second.stdout, /^hoodi: 0 missing epochs read, 0 still missing/)
  assert.match(second.stderr, /epochs from 13 on are not gaps: they have not been read yet/)
})

test('a range without gaps that can be filled is an error with the reason', async () => {
  await using at = await openScene({ fromEpoch: 9 })
  const fill = (from: string, until: string) =>
    at.run('ingest', 'beacon', '--network', 'hoodi', '--from-epoch', from, '--until-epoch', until)
  const beforeFirst = await fill('0', '9')
  assert.deepEqual([beforeFirst.code, beforeFirst.stdout], [1, ''])
  assert.match(beforeFirst.stderr, /No gap was filled: no epoch of hoodi is stored yet\. Start with/)
  await at.run('ingest', 'beacon', '--network', 'hoodi', '--once')
  const future = await fill('900', '1000')
  assert.deepEqual([future.code, future.stdout], [1, ''])
  assert.match(future.stderr, /epochs of hoodi are stored up to 12\. Later epochs are not gaps/)
  const empty = await fill('9', '4')
  assert.deepEqual([empty.code, empty.stdout], [1, ''])
  assert.match(empty.stderr, /the range 9 to 4 is empty/)
})

test('a network is not read if its days differ from the stored ones, and the error names the setting', async () => {
  await using at = await openScene()
  await at.run('ingest', 'beacon', '--network', 'hoodi', '--once')
  const beacon = { ...at.settings.validators.networks.hoodi, epochsPerDay: 8 }
  await writeFile(join(at.dir, 'tetrad.yaml'), JSON.stringify({ validators: { networks: { hoodi: beacon } } }))
  for (const options of [['--once'], ['--from-epoch', '0']]) {
    const { code, stdout, stderr } = await at.run('ingest', 'beacon', '--network', 'hoodi', ...options)
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, /hoodi\.epochsPerDay is 8, but stored figures were added up by 4: set it back/)
  }
  const explained = await at.run('validators', 'explain', '0', '--network', 'hoodi')
  assert.deepEqual([explained.code, explained.stdout], [1, ''])
  assert.match(explained.stderr, /were added up by 4/)
})

/** A server that has ingested the network. Its next poll would be in an hour. */
async function openServer(at: Awaited<ReturnType<typeof openScene>>) {
  const dataDir = join(at.dir, 'data')
  const stores = await openStores(dataDir)
  const stop = new AbortController()
  const parts = {
    ...stores,
    duties: dutiesOnThisThread(stores.duties),
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    settings: settingsWith(at.settings),
  }
  const context = createContext({ ...parts, settings: await withChainTimes(parts) })
  const operations = await startOperations(context, { dataDir, version: '1' })
  const ingested = Promise.withResolvers<void>()
  const beacon = startBeacon(context, stop.signal, (_, { until }) => until === 13 && ingested.resolve())
  await ingested.promise
  return {
    duties: stores.duties,
    async [Symbol.asyncDispose]() {
      stop.abort()
      await Promise.all([operations[Symbol.asyncDispose](), beacon])
      await stores.close()
    },
  }
}

test('with a running server, ingest beacon makes it poll, shows its progress and writes nothing itself', async () => {
  await using at = await openScene()
  await using _server = await openServer(at)
  const { code, stdout, stderr } = await at.run('ingest', 'beacon', '--network', 'hoodi', '--once', '--json')
  assert.equal(code, 0, stderr)
  const { until, finalizedEpoch, written } = JSON.parse(stdout)
  assert.deepEqual({ until, finalizedEpoch, written }, { until: 13, finalizedEpoch: 14, written: 0 })
  const other = await at.run('ingest', 'beacon', '--network', 'holesky', '--once')
  assert.deepEqual([other.code, other.stdout], [1, ''])
  assert.match(other.stderr, /does not ingest holesky\. Set validators\.networks\.holesky\.beacon\.urls/)
})

test('a running server fills gaps and stores the results of an audit', async () => {
  await using at = await openScene({ fromEpoch: 9 })
  await using server = await openServer(at)
  const filled = await at.run('ingest', 'beacon', '--network', 'hoodi', '--from-epoch', '6', '--json')
  assert.equal(filled.code, 0, filled.stderr)
  assert.deepEqual(
    { ...JSON.parse(filled.stdout), seconds: 0 },
    { network: 'hoodi', filled: 3, missing: 0, seconds: 0 },
  )
  assert.deepEqual(await coveredEpochs(server.duties, 'hoodi'), [{ from: 6, until: 13 }])
  const future = await at.run('ingest', 'beacon', '--network', 'hoodi', '--from-epoch', '900')
  assert.deepEqual([future.code, future.stdout], [1, ''])
  assert.match(future.stderr, /epochs of hoodi are stored up to 12\. Later epochs are not gaps/)
  const audited = await at.run('validators', 'audit', '--network', 'hoodi', '--from-epoch', '2')
  assert.equal(audited.code, 0, audited.stderr)
  assert.match(audited.stdout, /All rewards agree\.\n$/)
  const stored = await server.duties.all('select part from reward_audits where epoch = 2')
  assert.equal(stored.length, 6)
})

test('if another process uses the data folder, ingest beacon fails with advice', async () => {
  await using at = await openScene()
  const stores = await openStores(join(at.dir, 'data'))
  try {
    const { code, stderr } = await at.run('ingest', 'beacon', '--network', 'hoodi', '--once')
    assert.equal(code, 1)
    assert.match(
      stderr,
      /data is in use by another process, probably a running server; stop it, or wait until it has ended/,
    )
  } finally {
    await stores.close()
  }
})

test('without a beacon node, the error names the missing setting', async () => {
  await using at = await openScene()
  const { code, stderr } = await at.run('ingest', 'beacon', '--network', 'holesky', '--once')
  assert.equal(code, 1)
  assert.match(stderr, /validators\.networks\.holesky\.beacon\.urls/)
})

test('an audit of the recorded node finds no difference and stores the result', async () => {
  await using at = await openScene()
  const { code, stdout, stderr } = await at.run(
    'validators',
    'audit',
    '--network',
    'hoodi',
    '--from-epoch',
    '2',
    '--until-epoch',
    '5',
    '--json',
  )
  assert.equal(code, 0, stderr)
  const lines = JSON.parse(stdout) as { part: string; compared: number; differing: number; gwei: number }[]
  assert.equal(lines.length, 18)
  assert(
    lines.every(({ compared, differing, gwei }) => compared > 0 && differing === 0 && gwei === 0),
    stdout,
  )
  const stores = await openStores(join(at.dir, 'data'))
  const stored = await stores.duties.get<{ count: number }>('select count(*) as count from reward_audits')
  await stores.close()
  assert.equal(stored?.count, 18)
})
