import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ExplainedEpoch } from '#api/contract/wire/validators-explain.ts'
import { incidentsOf } from './incidents.ts'
import { type DayFault, faultOfDay, verdictText } from './verdict.ts'

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
    const [shown] = incidentsOf(epoch(incident))
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

test('without the duties of every epoch, the cause is unknown', () => {
  assert.equal(faultOf([lateWithoutBlocks], false), 'unknown')
  assert.equal(faultOf([]), 'unknown')
})

test('the sentence counts bad days and whose fault they were', () => {
  const text = (badDays: number, faults: readonly DayFault[] = [], hasMore = false) =>
    verdictText({ badDays, hasMore, faults })
  assert.equal(text(0), 'no bad days')
  assert.equal(text(1, ['own']), 'one bad day, its fault')
  assert.equal(text(2, ['others', 'others']), 'two bad days, both not its fault')
  assert.equal(text(3, ['others', 'own', 'others']), 'three bad days, one its fault, two not its fault')
  assert.equal(text(12, ['own', 'own', 'unknown']), '12 bad days; of the three worst, two its fault, one cause unknown')
  assert.equal(text(50, ['own', 'own'], true), 'at least 50 bad days; of the two worst, two its fault')
})
