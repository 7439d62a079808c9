// Spec 4.5 and 4.6, compared with a simple reference over every single epoch (test/validators-reference.ts), for random
// requests.
import { strict as assert } from 'node:assert'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import {
  type AggregateRecord,
  type EffectivenessRecord,
  type Network,
  networks,
} from '#api/contract/wire/validators.ts'
import type { ChainTime, Epoch } from '#core/chain-time.ts'
import { createSeededRandom } from '#simulator/seeded-random.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { drawDuties, drawValidators } from '#test/validators-acting.ts'
import { dayOf, figuresOf, type Granularity, groupBy, type Row, sum, windowOf } from '#test/validators-reference.ts'
import { callHandler, type HandlerReply, inputOfLink, register, writeEpochs } from '#test/validators-world.ts'
import { aggregateEffectiveness } from './aggregate-effectiveness.ts'
import { effectiveness } from './effectiveness.ts'

// Three chain times: days of exactly 24 h, of 26 h 40 min, and shorter than a UTC day.
const clocks: Record<Network, ChainTime> = {
  mainnet: { genesisUnix: 1_767_184_000, slotSeconds: 600, slotsPerEpoch: 8, epochsPerHour: 3, epochsPerDay: 18 },
  hoodi: { genesisUnix: 1_767_230_000, slotSeconds: 600, slotsPerEpoch: 8, epochsPerHour: 4, epochsPerDay: 20 },
  holesky: { genesisUnix: 1_767_200_123, slotSeconds: 300, slotsPerEpoch: 8, epochsPerHour: 5, epochsPerDay: 25 },
}
/** Stored epochs: they start and end inside hours, and have a gap. */
const readRanges: readonly [number, number][] = [
  [31, 400],
  [437, 1211],
]
const validatorCount = 11
const worlds = {} as Record<Network, { rows: Row[]; indices: number[] }>
let context: TestContext

before(async () => {
  context = await openContext({ validators: { networks: clocks } })
  for (const network of networks) {
    const epochs = { from: 31 as Epoch, until: 1211 as Epoch }
    const draws = createSeededRandom('ratings').fork(network)
    const cast = drawValidators(draws, validatorCount, epochs)
    await register(
      context,
      network,
      cast.map(({ index }) => index),
    )
    worlds[network] = { rows: [], indices: cast.map(({ index }) => index) }
    for (const [from, until] of readRanges) {
      const batch = { from: from as Epoch, until: until as Epoch }
      const rows = drawDuties(draws, cast, batch, network !== 'holesky')
      await writeEpochs(context, network, batch, rows)
      worlds[network].rows.push(...rows)
      // Results must not depend on merging: merge all days, those of the first range, or none.
      const input = { network, time: clocks[network], until }
      if (network === 'mainnet' || (network === 'holesky' && from === 31))
        await context.duties.update('mergeSpans', input, { signal: new AbortController().signal })
    }
  }
})
after(() => context[Symbol.asyncDispose]())

function assertNear(actual: unknown, expected: number | null, label: string): void {
  const isNear = expected === null ? actual === null : typeof actual === 'number' && Math.abs(actual - expected) <= 1e-9
  assert(isNear, `${label}: ${actual}, not ${expected}`)
}

function assertAggregate(
  time: ChainTime,
  granularity: Granularity,
  record: AggregateRecord,
  rows: readonly Row[],
): void {
  const { proposerEffectiveness: _, ...figures } = figuresOf(time, false, granularity, rows)
  for (const [name, value] of Object.entries(figures)) assertNear(record[name as 'uptime'] ?? null, value, name)
  const isKnown = sum(rows, (row) => row.execution_unknown) === 0
  const penalties = ['late_source', 'late_target', 'wrong_target', 'wrong_head', 'missed_attestation', 'sync'] as const
  const exact: Partial<Record<keyof AggregateRecord, number | null>> = {
    earnings: sum(rows, (row) => row.earnings),
    estimatedPenalties: sum(rows, (row) => penalties.reduce((total, name) => total + row[`${name}_penalty`], 0)),
    estimatedRewards: sum(rows, (row) => row.attestation_reward + row.block_reward + row.sync_reward),
    executionProposedEmptyCount: sum(rows, (row) => row.proposed_empty),
    proposerDutiesCount: sum(rows, (row) => row.proposer_duties),
    slashesReceived: sum(rows, (row) => row.slashes_received),
    totalAttestations: sum(rows, (row) => row.inclusions),
    sumMissedAttestations: sum(rows, (row) => row.assigned - row.included),
    sumWrongHeadVotes: sum(rows, (row) => (row.included === 1 && row.correct_head === 0 ? 1 : 0)),
    sumWrongTargetVotes: sum(rows, (row) => (row.included === 1 && row.correct_target === 0 ? 1 : 0)),
    sumAllRewards: isKnown ? sum(rows, (row) => row.earnings + row.priority_fee + row.baseline_mev) : null,
    sumMissedExecutionRewards: isKnown ? sum(rows, (row) => row.missed_execution_reward) : null,
  }
  for (const [name, value] of Object.entries(exact)) assert.equal(record[name as 'earnings'] ?? null, value, name)
}

const network = fc.constantFrom(...networks)
const bound = fc.option(fc.nat({ max: 75 }), { nil: undefined })

test('4.5: the pages together have every window of the requested validators, newest first', async () => {
  const question = fc.record({
    network,
    granularity: fc.constantFrom('day', 'week', 'month', 'quarter', 'year', 'all'),
    groupBy: fc.constantFrom('validator', 'timeWindow'),
    filterType: fc.constantFrom('day', 'hour'),
    from: bound,
    to: bound,
    size: fc.integer({ min: 4, max: 40 }),
    positions: fc.uniqueArray(fc.nat({ max: validatorCount - 1 }), { minLength: 1, maxLength: 5 }),
  })
  await fc.assert(
    fc.asyncProperty(question, async ({ network, granularity, groupBy: by, filterType, positions, ...rest }) => {
      const { rows, indices } = worlds[network]
      const time = clocks[network]
      const named = positions.map((position) => indices[position] as number)
      const unit = filterType === 'day' ? time.epochsPerDay : time.epochsPerHour
      const [from, to] = [rest.from, rest.to].map((value) => (value && filterType === 'hour' ? value * 6 + 1 : value))
      const numbers = [from, to].filter((value) => value !== undefined)
      const first = numbers.length === 2 ? Math.min(...numbers) : (to ?? 0)
      const last = from === undefined ? Number.POSITIVE_INFINITY : Math.max(...numbers)
      const chosen = rows.filter(({ epoch, validator }) => {
        const at = Math.floor(epoch / unit)
        return at >= first && at <= last && named.includes(validator)
      })
      const windows = groupBy(chosen, ({ epoch }) => windowOf(time, false, granularity, epoch)).reverse()
      const byIndex = (group: Row[]) => groupBy(group, ({ validator }) => String(validator).padStart(9, '0'))
      const expected = by === 'validator' ? windows.flatMap(byIndex) : windows

      const bounds = { ...(from !== undefined && { from: `${from}` }), ...(to !== undefined && { to: `${to}` }) }
      const input = {
        network,
        granularity,
        groupBy: by,
        filterType,
        size: rest.size,
        indices: [...named, ...named],
        ...bounds,
      }
      const records: AggregateRecord[] = []
      for (let next: typeof input | undefined = input; next !== undefined; ) {
        const { body }: HandlerReply<typeof aggregateEffectiveness.endpoint> = await callHandler(
          aggregateEffectiveness,
          context,
          next,
        )
        assert.equal(body.total, expected.length - records.length, 'those of this page and the following ones')
        records.push(...body.data)
        assert.equal(body.next === null, records.length === expected.length, 'next is null on the last page alone')
        next =
          body.next === null
            ? undefined
            : ({ ...inputOfLink(aggregateEffectiveness.endpoint, body.next), network } as never)
      }
      assert.equal(records.length, expected.length)
      records.forEach((record, at) => {
        const group = expected[at] as Row[]
        const [start, end] = [record.startEpoch as number, record.endEpoch as number]
        if (by === 'validator') assert.equal(record.validatorIndex, group[0]?.validator)
        assert(
          group.every(({ epoch }) => start <= epoch && epoch <= end),
          'inside its epochs',
        )
        assert(granularity === 'day' ? record.day === record.startDay : !('day' in record))
        assertAggregate(time, granularity, record, group)
      })
    }),
    { numRuns: 40 },
  )
})

test('4.6: the pages have every window of the validator in the requested order', async () => {
  const question = fc.record({
    network,
    granularity: fc.constantFrom('hour', 'day', 'week', 'month', 'quarter', 'year', 'all'),
    utc: fc.boolean(),
    position: fc.nat({ max: validatorCount - 1 }),
    fromDay: bound,
    toDay: bound,
    limit: fc.integer({ min: 5, max: 120 }),
    sortBy: fc.option(
      fc.constantFrom(
        'hour',
        'day',
        'endDay',
        'startEpoch',
        'uptime',
        'validatorEffectiveness',
        'proposerEffectiveness',
      ),
      {
        nil: undefined,
      },
    ),
    sortOrder: fc.constantFrom('asc', 'desc'),
  })
  await fc.assert(
    fc.asyncProperty(question, async ({ network, granularity, utc, position, fromDay, toDay, sortBy, ...rest }) => {
      fc.pre(fromDay === undefined || toDay === undefined || fromDay <= toDay)
      const time = clocks[network]
      const index = worlds[network].indices[position] as number
      const chosen = worlds[network].rows.filter(({ epoch, validator }) => {
        const day = dayOf(time, utc, epoch)
        return validator === index && day >= (fromDay ?? 0) && day <= (toDay ?? day)
      })
      const groups = groupBy(chosen, ({ epoch }) => windowOf(time, utc, granularity, epoch))
      const bounds = { ...(fromDay !== undefined && { fromDay }), ...(toDay !== undefined && { toDay }) }
      const input = { network, granularity, utc, validator_index_or_pubkey: String(index), ...bounds, ...rest }
      const results: EffectivenessRecord[] = []
      for (let next: typeof input | undefined = { ...input, ...(sortBy && { sortBy }) }; next !== undefined; ) {
        const { body }: HandlerReply<typeof effectiveness.endpoint> = await callHandler(effectiveness, context, next)
        results.push(...body.results)
        assert.equal(body.pages, Math.ceil(groups.length / rest.limit))
        const link = body.next === null ? undefined : inputOfLink(effectiveness.endpoint, body.next)
        next = link && ({ ...link, network, validator_index_or_pubkey: String(index) } as never)
      }
      assert.equal(results.length, groups.length)
      assertOrder(results, sortBy, rest.sortOrder)
      const byTime = results.toSorted((a, b) => (a.startEpoch as number) - (b.startEpoch as number))
      byTime.forEach((record, at) => {
        const group = groups[at] as Row[]
        const figures = figuresOf(time, utc, granularity, group)
        for (const [name, value] of Object.entries(figures)) assertNear(record[name as 'uptime'], value, name)
        assert.equal(
          record.sumInclusionDelay,
          sum(group, (row) => row.inclusion_delay),
        )
        assert(group.every(({ epoch }) => (record.startEpoch ?? 0) <= epoch && epoch <= (record.endEpoch ?? 0)))
        const days = group.map(({ epoch }) => dayOf(time, utc, epoch))
        assert((record.startDay ?? 0) <= Math.min(...days) && Math.max(...days) <= (record.endDay ?? 0))
      })
    }),
    { numRuns: 40 },
  )
})

function assertOrder(
  results: readonly EffectivenessRecord[],
  sortBy: 'uptime' | 'day' | 'startEpoch' | undefined | string,
  order: string,
): void {
  const figure = (record: EffectivenessRecord) => record[(sortBy ?? 'startEpoch') as 'uptime']
  for (let at = 1; at < results.length; at++) {
    const [one, two] = [results[at - 1] as EffectivenessRecord, results[at] as EffectivenessRecord]
    const [a, b] = [figure(one), figure(two)]
    const step = a === b ? 0 : a === null ? 1 : b === null ? -1 : order === 'asc' ? a - b : b - a
    assert(step <= 0, `${a} is before ${b}`)
    if (step === 0) assert((one.startEpoch as number) < (two.startEpoch as number), 'equal records are sorted by time')
  }
}
