// Tests of `tetrad repair --network` with a recorded node, with and without a running server.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { startOperations } from '#operations/start.ts'
import { systemClock } from '#runtime/clock.ts'
import { silentLog } from '#runtime/log.ts'
import { systemRandom } from '#runtime/random.ts'
import { createContext } from '#server/context.ts'
import { openDuties, openStores } from '#storage/open.ts'
import type { State } from '#storage/state.ts'
import { openReplay } from '#test/beacon-replay.ts'
import { settingsWith } from '#test/context.ts'
import { openFolder, runCommand } from '#test/run-command.ts'
import { coveredEpochs } from '#validators/duties/coverage.ts'
import { levels } from '#validators/duties/layout.ts'
import { packCells } from '#validators/duties/pack-row.ts'
import { addRow, RowReader } from '#validators/duties/packed-row.ts'
import { Cells } from '#validators/duties/row-format.ts'
import { dutiesOnThreads } from '#validators/duties/store.ts'
import { storeGapReasons } from '#validators/ingest/gaps/explain-gaps.ts'
import { withChainTimes } from '#validators/ingest/read/chain-identity.ts'
import { startBeacon } from '#validators/ingest/start.ts'
import { measures } from '#validators/method/measures.ts'

async function openScene({ fromEpoch = 0 } = {}) {
  /** Slots whose blocks the node does not return. */
  const lacking = new Set<number>()
  const node = await openReplay({
    meddle: (exchange) => {
      const slot = /beacon\/(?:blocks|headers)\/(\d+)$/.exec(exchange.path)?.[1]
      return slot !== undefined && lacking.has(Number(slot)) ? { ...exchange, status: 404, body: '{}' } : exchange
    },
  })
  const folder = await openFolder()
  const beacon = { urls: [node.url], acceptAnyChain: true, fromEpoch, everyMs: 3_600_000 }
  const settings = {
    validators: { networks: { hoodi: { states: 'node', epochsPerHour: 2, epochsPerDay: 4, beacon } } },
  }
  await writeFile(join(folder.dir, 'tetrad.yaml'), JSON.stringify(settings))
  const dataDir = join(folder.dir, 'data')
  const command = (...args: string[]) => runCommand(args, { cwd: folder.dir })
  return {
    ...{ dataDir, settings, lacking, run: command },
    repair: (from: number, until: number, ...more: string[]) =>
      command('repair', '--network', 'hoodi', '--from-epoch', String(from), '--until-epoch', String(until), ...more),
    async [Symbol.asyncDispose]() {
      await folder[Symbol.asyncDispose]()
      await node[Symbol.asyncDispose]()
    },
  }
}

async function withDuties<T>(dataDir: string, work: (state: State) => Promise<T>): Promise<T> {
  const state = await openDuties(dataDir)
  try {
    return await work(state)
  } finally {
    await state.close()
  }
}

const coveredIn = (dataDir: string) => withDuties(dataDir, (state) => coveredEpochs(state, 'hoodi'))

const daysIn = (dataDir: string) =>
  withDuties(dataDir, (state) =>
    state.all<{ id: number; data: Uint8Array }>('select id, data from duty_days order by id'),
  )

/** Changes a figure of each of the first days. */
const falsify = (dataDir: string, days: number) =>
  withDuties(dataDir, async (state) => {
    const sql = 'select id, data from duty_days order by id limit ?'
    const rows = await state.all<{ id: number; data: Uint8Array }>(sql, days)
    for (const [at, { id, data }] of rows.entries()) {
      const cells = new Cells(levels.days.validators, measures.length)
      addRow(new RowReader(measures.length), data, cells)
      cells.add(at, measures.indexOf('earnings'), 12_345)
      await state.write((tx) => tx.run('update duty_days set data = ? where id = ?', packCells(cells), id))
    }
  })

test('repair corrects wrong figures, and changes nothing when it runs again', async () => {
  await using at = await openScene()
  await at.run('ingest', 'beacon', '--network', 'hoodi', '--once')
  const clean = await daysIn(at.dataDir)
  await falsify(at.dataDir, 2)
  assert.notDeepEqual(await daysIn(at.dataDir), clean)
  const first = await at.repair(1, 13, '--json')
  assert.equal(first.code, 0, first.stderr)
  assert.deepEqual(JSON.parse(first.stdout), { network: 'hoodi', filled: 0, parts: 4, epochs: 13, changed: 2 })
  assert.equal(first.stderr, '')
  assert.deepEqual(await daysIn(at.dataDir), clean)
  const second = await at.repair(5, 6)
  assert.equal(second.code, 0, second.stderr)
  assert.equal(
    second.stdout,
    'hoodi: 4 epochs replaced (1 day part), figures of 0 validators changed, 0 missing epochs read\n',
  )
  assert.match(second.stderr, /hoodi: 2 epochs left to read\nhoodi: 0 epochs left to read/)
})

test('repair reads epochs that were never read, and replaces the stored ones of the range', async () => {
  await using at = await openScene({ fromEpoch: 9 })
  await at.run('ingest', 'beacon', '--network', 'hoodi', '--once')
  const gap = await at.repair(4, 5, '--json')
  assert.deepEqual(JSON.parse(gap.stdout), { network: 'hoodi', filled: 1, parts: 0, epochs: 0, changed: 0 })
  const stores = await openStores(at.dataDir)
  await storeGapReasons(stores.ingest, 'hoodi', [{ from: 5, until: 9, reason: 'the node has no states' }], 0)
  await stores.close()
  const coverage = await at.run('coverage')
  assert.match(coverage.stdout, /\nnetwork hoodi: 5-8 not read: the node has no states\n/)
  assert.match(
    coverage.stderr,
    /To fill the gaps, add a node that has the state and the blocks of these epochs to validators\.networks\.hoodi/,
  )
  const both = await at.repair(6, 10)
  assert.equal(
    both.stdout,
    'hoodi: 3 epochs replaced (1 day part), figures of 0 validators changed, 3 missing epochs read\n',
  )
  assert.deepEqual(await coveredIn(at.dataDir), [
    { from: 4, until: 5 },
    { from: 6, until: 13 },
  ])
})

test('missing epochs that the node cannot supply are reported, and those before them stay', async () => {
  await using at = await openScene({ fromEpoch: 9 })
  await at.run('ingest', 'beacon', '--network', 'hoodi', '--once')
  for (let slot = 56; slot < 64; slot++) at.lacking.add(slot)
  const partly = await at.repair(1, 10, '--json')
  assert.equal(partly.code, 3, partly.stderr)
  const { filled, parts, failed } = JSON.parse(partly.stdout)
  const stored = await coveredIn(at.dataDir)
  assert.deepEqual(stored, [
    { from: 1, until: failed.fromEpoch },
    { from: 9, until: 13 },
  ])
  assert.deepEqual([filled, parts, failed.untilEpoch], [failed.fromEpoch - 1, 1, 9])
  assert.match(partly.stderr, /Continue with: tetrad repair --network hoodi --from-epoch \d --until-epoch 10/)
  const nothing = await at.repair(7, 8)
  assert.deepEqual([nothing.code, nothing.stdout], [1, ''])
  assert.match(nothing.stderr, /Nothing was changed\. Epochs 7 to 7 cannot be repaired: /)
})

test('a running server reads missing epochs', async () => {
  await using at = await openScene({ fromEpoch: 9 })
  await using _server = await openServer(at)
  const { code, stdout, stderr } = await at.repair(6, 9, '--json')
  assert.equal(code, 0, stderr)
  assert.deepEqual(JSON.parse(stdout), { network: 'hoodi', filled: 3, parts: 0, epochs: 0, changed: 0 })
  assert.deepEqual(await coveredIn(at.dataDir), [{ from: 6, until: 13 }])
})

test('a running server repairs the epochs, and the command shows its progress', async () => {
  await using at = await openScene()
  await using _server = await openServer(at)
  const clean = await daysIn(at.dataDir)
  await falsify(at.dataDir, 1)
  const { code, stdout, stderr } = await at.repair(0, 4, '--json')
  assert.equal(code, 0, stderr)
  assert.deepEqual(JSON.parse(stdout), { network: 'hoodi', filled: 0, parts: 1, epochs: 4, changed: 1 })
  assert.deepEqual(await daysIn(at.dataDir), clean)
  const late = await at.repair(0, 40)
  assert.deepEqual([late.code, late.stdout], [1, ''])
  assert.match(
    late.stderr,
    /stored up to 12; later ones are not final or have not been read yet\. Pass --until-epoch 13/,
  )
  for (let slot = 32; slot < 40; slot++) at.lacking.add(slot)
  await falsify(at.dataDir, 1)
  const wrong = await daysIn(at.dataDir)
  const failed = await at.repair(0, 4)
  assert.deepEqual([failed.code, failed.stdout], [1, ''])
  assert.match(failed.stderr, /Nothing was changed\. Epochs 0 to 3 cannot be repaired: /)
  assert.deepEqual(await daysIn(at.dataDir), wrong)
  const other = await at.run('repair', '--network', 'holesky', '--from-epoch', '0', '--until-epoch', '4')
  assert.deepEqual([other.code, other.stdout], [1, ''])
  assert.match(other.stderr, /does not ingest holesky\. Set validators\.networks\.holesky\.beacon\.urls/)
})

/** A server that has ingested the network. Its next poll would be in an hour. */
async function openServer(at: Awaited<ReturnType<typeof openScene>>) {
  const { dataDir } = at
  const stores = await openStores(dataDir)
  const duties = dutiesOnThreads(stores.duties, { dir: dataDir, options: settingsWith(at.settings).store })
  const stop = new AbortController()
  const settings = settingsWith(at.settings)
  const parts = { ...stores, duties, clock: systemClock, random: systemRandom, log: silentLog, settings }
  const context = createContext({ ...parts, settings: await withChainTimes(parts) })
  const operations = await startOperations(context, { dataDir, version: '1' })
  const ingested = Promise.withResolvers<void>()
  const beacon = startBeacon(context, stop.signal, (_, { until }) => until === 13 && ingested.resolve())
  await ingested.promise
  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      await Promise.all([operations[Symbol.asyncDispose](), beacon])
      await duties.close()
      await stores.close()
    },
  }
}

test('epochs that the node cannot supply are reported and unchanged, and parts before them stay replaced', async () => {
  await using at = await openScene()
  await at.run('ingest', 'beacon', '--network', 'hoodi', '--once')
  await falsify(at.dataDir, 3)
  const wrong = await daysIn(at.dataDir)
  for (let slot = 88; slot < 104; slot++) at.lacking.add(slot)
  const partly = await at.repair(0, 13, '--json')
  assert.equal(partly.code, 3, partly.stderr)
  const { parts, changed, failed } = JSON.parse(partly.stdout)
  assert.deepEqual([parts, changed, failed.fromEpoch, failed.untilEpoch], [2, 2, 8, 12])
  assert.match(partly.stderr, /epochs 8 to 11 cannot be repaired and are unchanged: .+/)
  assert.match(partly.stderr, /Continue with: tetrad repair --network hoodi --from-epoch 8 --until-epoch 13/)
  const days = await daysIn(at.dataDir)
  assert.deepEqual(days.slice(2), wrong.slice(2))
  assert.notDeepEqual(days.slice(0, 2), wrong.slice(0, 2))
  const nothing = await at.repair(8, 12)
  assert.deepEqual([nothing.code, nothing.stdout], [1, ''])
  assert.match(nothing.stderr, /Nothing was changed\. Epochs 8 to 11 cannot be repaired: /)
  assert.deepEqual(await daysIn(at.dataDir), days)
})

test('invalid options are rejected with advice', async () => {
  await using at = await openScene()
  const rejectsWith =
    (exitCode: number) =>
    async (message: RegExp, ...args: string[]) => {
      const { code, stdout, stderr } = await at.run('repair', ...args)
      assert.deepEqual([code, stdout], [exitCode, ''])
      assert.match(stderr, message)
    }
  const [rejects, rejectsUsage] = [rejectsWith(1), rejectsWith(2)]
  const epochs = ['--from-epoch', '0', '--until-epoch', '4']
  await rejectsUsage(/--until-epoch is missing/, '--network', 'hoodi', '--from-epoch', '3')
  await rejectsUsage(/--from-epoch is missing/, '--until-epoch', '3')
  await rejectsUsage(/--from-epoch 4 must be smaller than --until-epoch 4/, '--from-epoch', '4', '--until-epoch', '4')
  await rejectsUsage(/--chain applies to the blocks of a chain/, '--chain', '1', ...epochs)
  await rejects(/set validators\.networks\.holesky\.beacon\.urls/, '--network', 'holesky', ...epochs)
  await rejects(
    /no epoch of hoodi is stored yet\. Read them with `tetrad ingest beacon/,
    '--network',
    'hoodi',
    ...epochs,
  )
  await at.run('ingest', 'beacon', '--network', 'hoodi', '--once')
  await rejects(/Pass --until-epoch 13/, '--network', 'hoodi', '--from-epoch', '0', '--until-epoch', '14')
})
