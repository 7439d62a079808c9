// `tetrad ingest beacon` and `validators audit` as child processes, against a recorded node over HTTP.

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
import { dutiesHere } from '#validators/duties/store.ts'
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

test('ingest beacon --once reads everything that is final, and a second time nothing', async () => {
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

test('epochs that were left out are filled in by a range, and a second time nothing is missing', async () => {
  await using at = await openScene({ fromEpoch: 9 })
  await at.run('ingest', 'beacon', '--network', 'hoodi', '--once')
  const range = ['--from-epoch', '4', '--until-epoch', '20']
  const first = await at.run('ingest', 'beacon', '--network', 'hoodi', ...range, '--json')
  assert.equal(first.code, 0, first.stderr)
  const { network, filled, missing } = JSON.parse(first.stdout)
  assert.deepEqual({ network, filled, missing }, { network: 'hoodi', filled: 5, missing: 0 })
  const second = await at.run('ingest', 'beacon', '--network', 'hoodi', ...range)
  assert.match(second.stdout, /^hoodi: 0 epochs filled in, 0 missing/)
  assert.match(second.stderr, /epochs from 13 on were not left out: reading has not come that far/)
})

test('epochs that are out of reach are a failure, and it is said why nothing was filled in', async () => {
  await using at = await openScene({ fromEpoch: 9 })
  const fill = (from: string, until: string) =>
    at.run('ingest', 'beacon', '--network', 'hoodi', '--from-epoch', from, '--until-epoch', until)
  const nothing = await fill('0', '9')
  assert.deepEqual([nothing.code, nothing.stdout], [1, ''])
  assert.match(nothing.stderr, /Nothing was filled in: nothing has been read of hoodi yet, so nothing was left out/)
  await at.run('ingest', 'beacon', '--network', 'hoodi', '--once')
  const future = await fill('900', '1000')
  assert.deepEqual([future.code, future.stdout], [1, ''])
  assert.match(future.stderr, /hoodi has been read up to epoch 12, and 900 was not left out/)
  const none = await fill('9', '4')
  assert.deepEqual([none.code, none.stdout], [1, ''])
  assert.match(none.stderr, /there is no epoch from 9 up to 4/)
})

test('a network is not read with other days than its rows have, and the command says what to set back', async () => {
  await using at = await openScene()
  await at.run('ingest', 'beacon', '--network', 'hoodi', '--once')
  const beacon = { ...at.settings.validators.networks.hoodi, epochsPerDay: 8 }
  await writeFile(join(at.dir, 'tetrad.yaml'), JSON.stringify({ validators: { networks: { hoodi: beacon } } }))
  for (const how of [['--once'], ['--from-epoch', '0']]) {
    const { code, stdout, stderr } = await at.run('ingest', 'beacon', '--network', 'hoodi', ...how)
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, /hoodi\.epochsPerDay is 8, but what is stored was added up by 4: set it back/)
  }
  const explained = await at.run('validators', 'explain', '0', '--network', 'hoodi')
  assert.deepEqual([explained.code, explained.stdout], [1, ''])
  assert.match(explained.stderr, /was added up by 4/)
})

/** A server that has read the network and would look again in an hour. */
async function openServer(at: Awaited<ReturnType<typeof openScene>>) {
  const dataDir = join(at.dir, 'data')
  const stores = await openStores(dataDir)
  const stop = new AbortController()
  const plain = {
    ...stores,
    duties: dutiesHere(stores.duties),
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    settings: settingsWith(at.settings),
  }
  const context = createContext({ ...plain, settings: await withChainTimes(plain) })
  const upkeep = startOperations(context, { dataDir, version: '1' }, stop.signal)
  // The first look is over before anyone asks, and the next one by itself would be an hour away.
  const looked = Promise.withResolvers<void>()
  const beacon = startBeacon(context, stop.signal, (_, { until }) => until === 13 && looked.resolve())
  await looked.promise
  return {
    duties: stores.duties,
    async [Symbol.asyncDispose]() {
      stop.abort()
      await Promise.all([upkeep, beacon])
      await stores.close()
    },
  }
}

test('beside a running server, ingest beacon has that look at once, shows how it gets on, and writes nothing itself', async () => {
  await using at = await openScene()
  await using _server = await openServer(at)
  const { code, stdout, stderr } = await at.run('ingest', 'beacon', '--network', 'hoodi', '--once', '--json')
  assert.equal(code, 0, stderr)
  const { until, finalizedEpoch, written } = JSON.parse(stdout)
  assert.deepEqual({ until, finalizedEpoch, written }, { until: 13, finalizedEpoch: 14, written: 0 })
  const other = await at.run('ingest', 'beacon', '--network', 'holesky', '--once')
  assert.deepEqual([other.code, other.stdout], [1, ''])
  assert.match(other.stderr, /does not follow holesky: set validators\.networks\.holesky\.beacon\.urls/)
})

test('beside a running server, that fills in what was left out, and keeps what an audit found', async () => {
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
  assert.match(future.stderr, /hoodi has been read up to epoch 12, and 900 was not left out/)
  const audited = await at.run('validators', 'audit', '--network', 'hoodi', '--from-epoch', '2')
  assert.equal(audited.code, 0, audited.stderr)
  assert.match(audited.stdout, /Both ways agree\.\n$/)
  const kept = await server.duties.all('select part from reward_audits where epoch = 2')
  assert.equal(kept.length, 6)
})

test('ingest beacon says what to do while another process uses the data folder', async () => {
  await using at = await openScene()
  const stores = await openStores(join(at.dir, 'data'))
  try {
    const { code, stderr } = await at.run('ingest', 'beacon', '--network', 'hoodi', '--once')
    assert.equal(code, 1)
    assert.match(
      stderr,
      /data is in use by another process, most likely a running server; stop it, or wait until it has ended/,
    )
  } finally {
    await stores.close()
  }
})

test('without a beacon node the setting that is missing is named', async () => {
  await using at = await openScene()
  const { code, stderr } = await at.run('ingest', 'beacon', '--network', 'holesky', '--once')
  assert.equal(code, 1)
  assert.match(stderr, /validators\.networks\.holesky\.beacon\.urls/)
})

test('an audit of the recorded node finds that both ways agree, and keeps that', async () => {
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
  const kept = await stores.duties.get<{ count: number }>('select count(*) as count from reward_audits')
  await stores.close()
  assert.equal(kept?.count, 18)
})
