// Tests of `tetrad ingest beacon` and `tetrad validators audit` with a recorded node.

import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
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
import { makeChain } from '#test/made-chain.ts'
import { openMadeChainNode } from '#test/made-chain-node.ts'
import { openFolder, runCommand } from '#test/run-command.ts'
import { coveredEpochs } from '#validators/duties/coverage.ts'
import { dutiesOnThisThread } from '#validators/duties/store.ts'
import { keptEpochs } from '#validators/duties/watch-ranges.ts'
import { withChainTimes } from '#validators/ingest/read/chain-identity.ts'
import { startBeacon } from '#validators/ingest/start.ts'

async function openScene() {
  const node = await openReplay()
  const folder = await openFolder()
  const beacon = { urls: [node.url], acceptAnyChain: true, fromEpoch: 0, everyMs: 3_600_000 }
  const settings = {
    validators: { networks: { hoodi: { states: 'node', epochsPerHour: 2, epochsPerDay: 4, beacon } } },
  }
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
  const plain = await at.run('ingest', 'beacon', '--network', 'hoodi', '--once')
  assert.match(plain.stdout, /^hoodi: read up to epoch 12, 0 epochs in /)
})

test('a network is not read if its days differ from the stored ones, and the error names the setting', async () => {
  await using at = await openScene()
  await at.run('ingest', 'beacon', '--network', 'hoodi', '--once')
  const beacon = { ...at.settings.validators.networks.hoodi, epochsPerDay: 8 }
  await writeFile(join(at.dir, 'tetrad.yaml'), JSON.stringify({ validators: { networks: { hoodi: beacon } } }))
  const range = ['--from-epoch', '0', '--until-epoch', '4']
  for (const command of [
    ['ingest', 'beacon', '--once'],
    ['repair', ...range],
  ]) {
    const { code, stdout, stderr } = await at.run(...command, '--network', 'hoodi')
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

test('an audit of the recorded node finds no difference', async () => {
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
})

test('an audit of epochs whose states the node lacks fails with advice, not as a bug', async () => {
  await using at = await openScene()
  const { code, stderr } = await at.run('validators', 'audit', '--network', 'hoodi', '--from-epoch', '100000')
  assert.equal(code, 1)
  assert.match(
    stderr,
    /no node has the state of slot \d+\. With states: node, a node must have the state of every epoch/,
  )
})

test('without a server, ingest reads the past of an added validator, and an audit uses the snapshots', async () => {
  await using chain = await makeChain({ preset: 'minimal', validators: 64, slots: 16 * 8 })
  await using node = await openMadeChainNode(chain)
  node.states.set('genesis', await readFile(chain.stateFile))
  node.finalized = 10
  await using folder = await openFolder()
  const beacon = { urls: [node.url], acceptAnyChain: true, fromEpoch: 0 }
  const run = async (watch: readonly string[], ...args: string[]) => {
    const hoodi = { epochsPerHour: 2, epochsPerDay: 4, watch, watchPastDays: 1, beacon }
    await writeFile(join(folder.dir, 'tetrad.yaml'), JSON.stringify({ validators: { networks: { hoodi } } }))
    const { code, stdout, stderr } = await runCommand([...args, '--network', 'hoodi', '--json'], { cwd: folder.dir })
    assert.equal(code, 0, stderr)
    return JSON.parse(stdout)
  }
  assert.equal((await run(['2'], 'ingest', 'beacon', '--once')).until, 9)
  node.states.clear()
  node.finalized = 12
  node.requests.length = 0
  await run(['2', '9'], 'ingest', 'beacon', '--once')
  const lines = await run(['2', '9'], 'validators', 'audit', '--from-epoch', '9', '--until-epoch', '10')
  assert.deepEqual(
    lines.map(({ epoch }: { epoch: number }) => epoch),
    Array(6).fill(9),
  )
  assert.deepEqual(
    node.requests.filter((request) => request.includes('/debug/beacon/states/')),
    [],
  )
  const stores = await openStores(join(folder.dir, 'data'))
  const duties = dutiesOnThisThread(stores.duties)
  const kept = await keptEpochs(duties, 'hoodi', await coveredEpochs(duties, 'hoodi'), [9])
  await stores.close()
  assert.deepEqual(kept, [{ from: 4, until: 11 }])
})

test('without a running server, the doctor verifies an hour with the times of the stored chain', async () => {
  await using at = await openScene()
  // The configured genesis is one second before midnight, so by the configured times the epochs are in other days.
  const hoodi = { ...at.settings.validators.networks.hoodi, genesisUnix: 20_000 * 86_400 - 1 }
  await writeFile(join(at.dir, 'tetrad.yaml'), JSON.stringify({ validators: { networks: { hoodi } } }))
  await at.run('ingest', 'beacon', '--network', 'hoodi', '--once')
  const { stdout } = await at.run('doctor', '--offline', '--sample', '1', '--json')
  const { findings } = JSON.parse(stdout) as { findings: { name: string; level: string; message: string }[] }
  const hour = findings.find(({ name }) => name === 'verify: one hour of duties against a beacon node')
  assert.equal(hour?.level, 'ok', hour?.message ?? stdout)
  assert.match(hour?.message ?? '', /^\d+ agree \(hoodi hour \d\)$/)
})
