// Alerts about thresholds of programmes: they begin and end with the days of the chain.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testWebhook } from '#test/alerts-network.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { noEntities, perfect, writeEpochs } from '#test/validators-world.ts'
import { plainTime } from '../../duties/layout.ts'
import { listDeliveries } from './deliveries.ts'
import { readOpenAlerts } from './examine-epochs.ts'
import { examineProgrammes } from './examine-programmes.ts'
import { countBelow } from './series.ts'
import type { WatchedValidator } from './watched-validators.ts'

const network = 'hoodi'
const { signal } = new AbortController()
const genesisUnix = 1_700_000_000
const dayMs = 4 * 32 * 12 * 1000
const indices = Array.from({ length: 10 }, (_, index) => index)
const entity = { pool: null, operator: null, eligibilityEpoch: 0, activationEpoch: 0, exitEpoch: null }
const watched: ReadonlyMap<number, WatchedValidator> = new Map([8, 9].map((index) => [index, { ...entity, index }]))
const missed = {
  ...perfect,
  inclusions: 0,
  included: 0,
  inclusion_delay: 0,
  correct_source: 0,
  correct_target: 0,
  correct_head: 0,
}

/** One minute after the end of a day. */
async function openAfter(day: number, webhook: object = {}): Promise<TestContext> {
  const programmes = [
    { network, name: 'csm', days: 1, basisPoints: 2250 },
    { network, name: 'strict', days: 1, basisPoints: 0, validators: [9] },
  ]
  return openContext(
    {
      validators: {
        networks: { [network]: { genesisUnix, epochsPerHour: 2, epochsPerDay: 4 } },
        ...{ programmes, webhooks: [{ ...testWebhook(), ...webhook }] },
      },
    },
    genesisUnix * 1000 + (day + 1) * dayMs + 60_000,
  )
}

/** Stores one epoch more than a day. Validator 9 misses its vote in these epochs. */
async function storeDay(context: TestContext, day: number, missedIn: readonly number[]): Promise<void> {
  const epochs = { from: day * 4, until: day * 4 + 5 }
  const rows = Array.from({ length: 5 }, (_, at) => epochs.from + at).flatMap((epoch) =>
    indices.map((validator) => ({
      ...(validator === 9 && missedIn.includes(epoch) ? missed : perfect),
      epoch,
      validator,
    })),
  )
  await writeEpochs(context, network, epochs, rows)
  const time = plainTime(context.settings.validators.networks[network])
  await context.duties.update(
    'summarizeDays',
    { network, time, until: epochs.until, entities: noEntities, daysMax: 10 },
    { signal },
  )
}

const bodiesIn = async (context: TestContext) =>
  (await listDeliveries(context.ingest, 100)).map(({ body }) => JSON.parse(body)).sort((a, b) => a.epoch - b.epoch)

const openIn = async ({ ingest, settings }: TestContext) => {
  const open = (await readOpenAlerts(ingest, network, settings.validators.webhooks)).get('ops') ?? new Map()
  return [...open].map(([event, validators]) => `${event} ${[...validators.keys()]}`).sort()
}

test('an alert begins when a validator is not above a threshold, and ends when it is', async () => {
  await using context = await openAfter(2)
  // 3 of 4 votes, and 39 of 40 in the network: exactly 22.5 points less.
  await storeDay(context, 0, [1])
  const first = await examineProgrammes(context, network, watched)
  assert.equal(first?.deliveries, 1)
  const [begun] = await bodiesIn(context)
  assert.deepEqual([begun.event, begun.epoch, begun.count], ['below_programme', 3, 1])
  assert.deepEqual(begun.validators[0].programmes, [
    { name: 'csm', figure: 'uptime', days: 1, value: 75, threshold: 75 },
    { name: 'strict', figure: 'uptime', days: 1, value: 75, threshold: 97.5 },
  ])
  assert.deepEqual(await openIn(context), ['below_programme:csm 9', 'below_programme:strict 9'])
  assert.deepEqual(
    countBelow(watched, first?.programmes ?? []).map(({ programme, count }) => [programme, count]),
    [
      ['csm', 1],
      ['strict', 1],
    ],
  )

  assert.equal(await examineProgrammes(context, network, watched, { after: 0 }), undefined)
  assert.equal((await examineProgrammes(context, network, watched))?.deliveries, 0, 'a restarted server sends nothing')

  await storeDay(context, 1, [6])
  assert.equal((await examineProgrammes(context, network, watched))?.deliveries, 0, 'it is reported once')
  await storeDay(context, 2, [])
  assert.equal((await examineProgrammes(context, network, watched))?.deliveries, 1)
  const ended = (await bodiesIn(context)).at(-1)
  assert.deepEqual([ended.event, ended.epoch], ['above_programme', 11])
  assert.equal(ended.validators[0].programmes[0].sinceEpoch, 3)
  // As good as the network is not above a threshold of 0 points.
  assert.deepEqual(await openIn(context), ['below_programme:strict 9'])
})

test('days that ended too long ago, and days without a complete summary, cause no alert', async () => {
  await using late = await openAfter(20)
  await storeDay(late, 0, [1])
  assert.equal((await examineProgrammes(late, network, watched))?.deliveries, 0)
  assert.deepEqual(await openIn(late), [])
  await using partial = await openAfter(0)
  await storeDay(partial, 0, [1])
  await partial.dutiesState.write((tx) => tx.run('update duty_summaries set epochs = 3'))
  assert.equal(await examineProgrammes(partial, network, watched), undefined)
})

test('a webhook without these events gets none', async () => {
  await using context = await openAfter(0, { events: ['slashed'] })
  await storeDay(context, 0, [1])
  assert.equal((await examineProgrammes(context, network, watched))?.deliveries, 0)
})
