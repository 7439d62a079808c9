// Changes of a watch list: an added validator has no earlier epochs until they are read again (../ingest/past/fill-past.ts), a
// removed one no later epochs, and the coverage of responses shows both.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import type { Log } from '#runtime/log.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { openReplay } from '#test/beacon-replay.ts'
import { openContext, settingsWith, type TestContext } from '#test/context.ts'
import { storedRows } from '#test/stored-duties.ts'
import { callHandler } from '#test/validators-world.ts'
import { aggregateEffectiveness } from '../endpoints/aggregate-effectiveness.ts'
import { Follower } from '../ingest/follow.ts'
import { withChainTimes } from '../ingest/read/chain-identity.ts'
import { readValidator } from '../registry/registry.ts'
import { coveredEpochs } from './coverage.ts'
import { keptEpochs, writeWatched } from './watch-ranges.ts'

/** What `read` was called with the last time, with the time of the chain. */
let readWith = settingsWith()

/** Reads up to the epoch before `finalized`, like a server that was restarted with this list. */
async function read(context: TestContext, watch: readonly string[], finalized: number): Promise<unknown[]> {
  await using node = await openReplay({
    meddle: (exchange) =>
      exchange.path === '/eth/v1/beacon/states/head/finality_checkpoints'
        ? { ...exchange, body: exchange.body.replace(/("finalized":\{"epoch":")\d+/, `$1${finalized}`) }
        : exchange,
  })
  const hoodi = { epochsPerHour: 2, epochsPerDay: 4, watch, beacon: { urls: [node.url], fromEpoch: 0 } }
  const plain = {
    ...context,
    settings: settingsWith({ validators: { networks: { hoodi: hoodi } } }),
    clock: systemClock,
  }
  const settings = await withChainTimes(plain)
  readWith = settings
  const warned: unknown[] = []
  const log = { ...context.log, warn: (fields: object) => void warned.push(fields) } as Log
  const beacon = openBeacon({ network: 'hoodi', urls: [node.url], timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })
  await new Follower({ ...context, settings, log }, 'hoodi', beacon).catchUp(new AbortController().signal)
  return warned
}

const keptOf = async ({ duties }: TestContext, ...validators: number[]) =>
  keptEpochs(duties, 'hoodi', await coveredEpochs(duties, 'hoodi'), validators)

test('a validator is covered while it is on the list, and changes are logged', async () => {
  await using context = await openContext()
  assert.deepEqual(await read(context, ['2', '7'], 5), [])
  assert.deepEqual(await read(context, ['7', '9'], 9), [{ network: 'hoodi', fromEpoch: 4, added: 1, removed: 1 }])
  assert.deepEqual(await keptOf(context, 2), [{ from: 0, until: 4 }])
  assert.deepEqual(await keptOf(context, 7), [{ from: 0, until: 8 }])
  assert.deepEqual(await keptOf(context, 9), [{ from: 4, until: 8 }])
  assert.deepEqual(await keptOf(context, 7, 9), [{ from: 4, until: 8 }])
  assert.deepEqual(await keptOf(context, 2, 9), [])
  assert.deepEqual(await keptOf(context, 30), [])
  const rows = await storedRows({ ...context, settings: readWith }, 'hoodi', 'days')
  assert.deepEqual(
    rows.map(({ validator, day }) => [validator, day]),
    [
      [2, 0],
      [7, 0],
      [7, 1],
      [9, 1],
    ],
  )
})

test('a list whose validators do not exist yet stores none, and none is covered', async () => {
  await using context = await openContext()
  const unknown = [{ network: 'hoodi', count: 1, first: ['900000'] }]
  for (const finalized of [5, 7]) {
    assert.deepEqual(await read(context, ['900000'], finalized), unknown)
    assert.deepEqual(await keptOf(context, 2), [])
  }
  assert.deepEqual(await read(context, ['2'], 9), [{ network: 'hoodi', fromEpoch: 6, added: 1, removed: 0 }])
  assert.deepEqual(await keptOf(context, 2), [{ from: 6, until: 8 }])
  assert.deepEqual(await keptOf(context, 3), [])
})

test('another order of the list is no change', async () => {
  await using context = await openContext()
  await read(context, ['2', '7'], 5)
  assert.deepEqual(await read(context, ['7', '2', '7'], 9), [])
  assert.deepEqual(await keptOf(context, 2, 7), [{ from: 0, until: 8 }])
})

test('from all validators to a list and back: those on the list have no gap, the others have one', async () => {
  await using context = await openContext()
  await read(context, [], 5)
  assert.deepEqual(await keptOf(context, 1, 2, 3), [{ from: 0, until: 4 }])
  assert.deepEqual(await read(context, ['2'], 9), [{ network: 'hoodi', fromEpoch: 4, added: 0, removed: 1 }])
  await read(context, [], 14)
  assert.deepEqual(await keptOf(context, 2), [{ from: 0, until: 13 }])
  assert.deepEqual(await keptOf(context, 3), [
    { from: 0, until: 4 },
    { from: 8, until: 13 },
  ])
})

test('a validator that did not exist before is fully covered', async () => {
  await using context = await openContext()
  const write = (from: number, validators: number[], isFirst: boolean) =>
    context.dutiesState.write((tx) => {
      const watched = { validators: Int32Array.from(validators), countBefore: 10, count: 13 }
      return writeWatched(tx, 'hoodi', from, watched, isFirst)
    })
  await write(0, [4], true)
  assert.equal(await write(6, [4, 12], false), undefined)
  const covered = [{ from: 0, until: 9 }]
  assert.deepEqual(await keptEpochs(context.duties, 'hoodi', covered, [12]), covered)
})

/** The keys of the recording, from the registry of a context without a watch list. */
async function pubkeysOf(...indices: number[]): Promise<string[]> {
  await using all = await openContext()
  await read(all, [], 5)
  const found = await Promise.all(indices.map((index) => readValidator(all.ingest, 'hoodi', index)))
  return found.map((entry) => entry?.pubkey ?? assert.fail())
}

test('unknown validators do not reduce the coverage of a response, validators that are not stored do; as-of is always set', async () => {
  await using context = await openContext()
  const unknownKey = `0x${'ee'.repeat(48)}`
  const watch = ['7', '9999', unknownKey]
  const [seven = '', nine = ''] = await pubkeysOf(7, 9)
  await read(context, watch, 5)
  const settings = settingsWith({ validators: { networks: { hoodi: { epochsPerHour: 2, epochsPerDay: 4, watch } } } })
  const responseFor = async (validators: { indices: number[] } | { pubkeys: string[] }) => {
    const { body, confidence } = await callHandler(
      aggregateEffectiveness,
      { ...context, settings },
      { network: 'hoodi', ...validators },
    )
    return [body.data.map(({ validatorIndex }) => validatorIndex), confidence?.coverage, confidence?.asOf]
  }
  assert.deepEqual(await responseFor({ indices: [7] }), [[7], 'complete', 3])
  assert.deepEqual(await responseFor({ indices: [7, 9999] }), [[7], 'complete', 3])
  assert.deepEqual(await responseFor({ indices: [7, 9] }), [[7], 'none', 3])
  assert.deepEqual(await responseFor({ pubkeys: [seven, seven.slice(2)] }), [[7], 'complete', 3])
  assert.deepEqual(await responseFor({ pubkeys: [seven, unknownKey] }), [[7], 'complete', 3])
  assert.deepEqual(await responseFor({ pubkeys: [seven, nine] }), [[7], 'none', 3])
  // Until the number of validators is known, any validator may exist.
  await context.dutiesState.write((tx) => tx.run('update duty_networks set validators = null'))
  assert.deepEqual(await responseFor({ indices: [7, 9999] }), [[7], 'none', 3])
  await read(context, watch, 9)
  assert.deepEqual(await responseFor({ indices: [7, 9999] }), [[7, 7], 'complete', 7])
})

test('entries of the list that match no validator are logged once', async () => {
  await using context = await openContext()
  assert.deepEqual(await read(context, ['7', '9999'], 9), [{ network: 'hoodi', count: 1, first: ['9999'] }])
})
