import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ExplainedEpoch } from '#api/contract/wire/validators-explain.ts'
import { cells, incidentsOfDay } from './incidents.ts'
import { type DayFault, faultOfDay, slashingIn, verdictText } from './verdict.ts'

type Vote = NonNullable<ExplainedEpoch['vote']>

const vote = (changes: Partial<Vote>): Vote => ({
  ...{ slot: 1, included: true, delay: 1, bestDelay: 1, nextBlockMissing: false },
  ...{ sourceCorrect: true, targetCorrect: true, headCorrect: true },
  ...(changes as object),
})

const epoch = (changes: Partial<ExplainedEpoch>): ExplainedEpoch => ({
  ...{ epoch: 1, startTimestamp: '', final: true, missedBlocks: [], emptyBlocks: [], messages: [] },
  ...{ missedSyncSignatures: 0, slashedSlot: null, ...(changes as object) },
})

const faultOf = (epochs: readonly Partial<ExplainedEpoch>[], epochsKnown = true) =>
  faultOfDay({ epochsKnown, epochs: epochs.map(epoch) })

const late = { vote: vote({ delay: 3 }) }
const lateWithoutBlocks = { vote: vote({ delay: 3, bestDelay: 3, nextBlockMissing: true }) }
const laterThanNeeded = { vote: vote({ delay: 3, bestDelay: 2, nextBlockMissing: true }) }
const withoutAnyBlock = { vote: vote({ included: false, delay: null, bestDelay: null, nextBlockMissing: true }) }
const neverIncluded = { vote: vote({ included: false, delay: null, bestDelay: 2, nextBlockMissing: true }) }

test('a day is the fault of the validator only if every incident that lowers the rating is', () => {
  assert.equal(faultOf([late]), 'own')
  assert.equal(faultOf([lateWithoutBlocks]), 'others')
  assert.equal(faultOf([late, lateWithoutBlocks]), 'partly')
  assert.equal(faultOf([laterThanNeeded]), 'partly')
  assert.equal(faultOf([neverIncluded]), 'own', 'a later block could have included it')
})

test('the verdict and the table of a day agree on a single incident', () => {
  const table = { validator: 'own', both: 'partly', none: 'others', builder: 'others', costless: 'unknown' }
  for (const incident of [late, lateWithoutBlocks, laterThanNeeded, neverIncluded, withoutAnyBlock]) {
    const [shown] = incidentsOfDay({ epochs: [epoch(incident)], proposals: [] })
    assert(shown)
    assert.equal(faultOf([incident]), table[shown.fault], JSON.stringify(incident))
  }
})

test('a payload that a builder withheld does not lower the rating, so it does not explain it', () => {
  assert.equal(faultOf([late, { withheldPayloads: [5] }]), 'own')
  assert.equal(faultOf([{ withheldPayloads: [5] }]), 'unknown')
})

test('missed sync signatures do not lower the rating, so they do not explain it', () => {
  assert.equal(faultOf([lateWithoutBlocks, { missedSyncSignatures: 3 }]), 'others')
  assert.equal(faultOf([{ missedSyncSignatures: 3 }]), 'unknown')
})

/** A day with one event of each kind, and what the verdict says about it if the rating of the day is bad. */
const events: Readonly<Record<string, readonly [event: Partial<ExplainedEpoch>, verdict: string, isGloas?: true]>> = {
  slashed: [{ slashedSlot: 5 }, 'One bad day, cause unknown.'],
  noBlock: [{ missedBlocks: [5] }, 'One bad day, its fault.'],
  missed: [neverIncluded, 'One bad day, its fault.'],
  wrongTarget: [{ vote: vote({ targetCorrect: false }) }, 'One bad day, its fault.'],
  late: [late, 'One bad day, its fault.'],
  wrongHead: [{ vote: vote({ headCorrect: false }) }, 'One bad day, its fault.'],
  emptyBlock: [{ emptyBlocks: [5] }, 'One bad day, its fault.'],
  ownPayload: [{ emptyBlocks: [5] }, 'One bad day, its fault.', true],
  sync: [{ missedSyncSignatures: 3 }, 'One bad day, cause unknown.'],
  withheld: [{ withheldPayloads: [5] }, 'One bad day, cause unknown.'],
  payloadVote: [
    {
      payloadVote: {
        ...{ slot: 5, onChain: false, couldBeOnChain: true, payloadSeen: null, blobsSeen: null, payload: 'full' },
      },
    },
    'One bad day, cause unknown.',
  ],
}

test('there is a verdict for every kind of event', () => {
  const { excused: _, fine: __, ...kinds } = cells
  assert.deepEqual(Object.keys(events).sort(), Object.keys(kinds).sort())
  for (const [kind, [event, verdict, isGloas]] of Object.entries(events)) {
    const proposal = { slot: 5, payload: 'empty', builder: null, valueGwei: 0, paid: null } as const
    const day = { epochsKnown: true, epochs: [epoch(event)], proposals: isGloas ? [proposal] : [] }
    assert.deepEqual(
      incidentsOfDay(day).map((incident) => incident.kind),
      [kind],
    )
    assert.equal(verdictText({ badDays: 1, hasMore: false, faults: [faultOfDay(day)] }), verdict, kind)
  }
})

test('a slashing comes before everything else, with all that it took', () => {
  const statement = (...slashings: readonly number[]) => {
    const days = slashings.map((gwei, at) => ({ date: `2026-11-0${at + 6}`, slashings: gwei }))
    return { days, total: { slashings: slashings.reduce((sum, gwei) => sum + gwei, 0) } } as never
  }
  assert.equal(slashingIn(statement(0, 0)), undefined)
  // 0.0078125 ETH at once, 1.02 ETH in proportion to all slashings: 1.0278125 ETH
  const slashing = slashingIn(statement(0, -7_812_500, 0, -1_020_000_000))
  const text = (badDays: number, faults: readonly DayFault[]) =>
    verdictText({ slashing, badDays, hasMore: false, faults })
  assert.equal(text(0, []), 'Slashed on 7 November 2026. Lost 1.028 ETH. No bad days.')
  assert.equal(
    text(5, ['own', 'own', 'own', 'own', 'own']),
    'Slashed on 7 November 2026. Lost 1.028 ETH. Five bad days, all its fault.',
  )
})

test('without the duties of every epoch, the cause is unknown', () => {
  assert.equal(faultOf([lateWithoutBlocks], false), 'unknown')
  assert.equal(faultOf([]), 'unknown')
})

test('the sentence counts bad days and whose fault they were', () => {
  const text = (badDays: number, faults: readonly DayFault[] = [], hasMore = false) =>
    verdictText({ badDays, hasMore, faults })
  assert.equal(text(0), 'No bad days.')
  assert.equal(text(1, ['own']), 'One bad day, its fault.')
  assert.equal(text(2, ['others', 'others']), 'Two bad days, both not its fault.')
  assert.equal(text(3, ['others', 'own', 'others']), 'Three bad days, one its fault, two not its fault.')
  assert.equal(
    text(12, ['own', 'own', 'unknown']),
    '12 bad days; of the three worst, two its fault, one cause unknown.',
  )
  assert.equal(text(50, ['own', 'own'], true), 'At least 50 bad days; of the two worst, two its fault.')
})
