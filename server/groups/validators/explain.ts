// Beyond the specification: the duties behind one validator's score (decision 0121). The days and their sums are those of 4.6;
// beside them stand the lapses, epoch by epoch, and what can be said for them.
import { extensions } from '#api/extensions.ts'
import type { Parsed } from '#api/kit.ts'
import type { AggregateField } from '#api/wire/validators.ts'
import { type ExplainedDay, type ExplainedEpoch, explainedSums } from '#api/wire/validators-explain.ts'
import { formatDate } from '#core/calendar.ts'
import { type ChainTime, type Epoch, type Epochs, epochStartMs, overlap } from '#core/chain-time.ts'
import { holes, type Range, within } from '#core/ranges.ts'
import { answer } from '#serve/answer.ts'
import type { Cell, Facts } from '#store/facts.ts'
import { countRecords, type Fold, foldRecords, type KeyRow } from './fold.ts'
import { type LapseKind, type LapseRow, lapseEpochs, lapseKinds, readLapses, wrongHead, wrongTarget } from './lapses.ts'
import { linksOf } from './links.ts'
import { aggregateSql, figures, methodHeaders, type PlaceField } from './method.ts'
import { type One, readOne } from './one.ts'
import { shape } from './shape.ts'
import { confidenceOf, cutToRead } from './span.ts'
import { windowsOver } from './windows.ts'

const endpoint = extensions['validators.explain']
type Query = Parsed<typeof endpoint>

export const explain = answer(endpoint, shape, async (query, desk, visit) => {
  const { facts } = desk
  const one = await readOne(query, desk)
  if (one.index === undefined) return { is: 'nothing', confidence: one.confidence }
  const { index, asked, covered, kept, served } = one
  const told = (await lapseEpochs(facts, query.network)).flatMap((range) => within(kept, range))
  const plan = served && {
    ...one,
    query,
    told,
    served: served.epochs,
    fold: { ...foldOf(query, one, served.days), signal: visit.signal },
  }
  const total = plan ? await countRecords(facts, plan.fold) : 0
  return {
    is: 'body',
    body: {
      validatorIndex: index,
      ...linksOf(endpoint, query, total, visit.origin),
      pages: Math.ceil(total / query.limit),
      results: plan && query.offset < total ? await readDays(facts, plan) : [],
    },
    headers: methodHeaders,
    confidence: { ...confidenceOf(covered, asked), coverage: confidenceOf(told, asked).coverage ?? 'none' },
  }
})

interface Plan extends Omit<One, 'served'> {
  readonly query: Query
  readonly served: Epochs
  /** Epochs whose lapses are known. */
  readonly told: readonly Range[]
  readonly fold: Fold
}

function foldOf({ network, utc }: Query, { line, index }: One, days: Range): Fold {
  const grain = utc ? 'utcDay' : 'day'
  return { network, who: [index], grain, days, windows: windowsOver(line, 'day', days), byValidator: false }
}

const { attesterEffectiveness, proposerEffectiveness, validatorEffectiveness } = figures
const daySql = {
  attesterEffectiveness,
  proposerEffectiveness,
  validatorEffectiveness,
  ...(Object.fromEntries(explainedSums.map((name) => [name, sqlOf(name)])) as Record<Sum, string>),
} as const

type Sum = (typeof explainedSums)[number]
function sqlOf(name: Exclude<AggregateField, PlaceField> & Sum): string {
  return aggregateSql[name]
}

async function readDays(facts: Facts, plan: Plan): Promise<ExplainedDay[]> {
  const { limit, offset, network } = plan.query
  const rows = await foldRecords(facts, plan.fold, daySql, { by: 'record_key', limit, offset })
  const places = rows.map(({ key }) => cutToRead(plan.covered, overlap(plan.line.epochsOf(key), plan.served)))
  const [first, last] = [places[0], places.at(-1)]
  if (!first || !last) return []
  const lapses = await readLapses(facts, network, plan.index, { from: first.from, until: last.until })
  const byDay = Map.groupBy(lapses, ({ epoch }) => plan.line.dayOf(epoch as Epoch))
  return rows.map((row, at) => toDay(plan, row, places[at] as Epochs, byDay.get(row.key) ?? []))
}

type Row = KeyRow & Readonly<Record<keyof typeof daySql, Cell>>

function toDay(plan: Plan, row: Row, epochs: Epochs, lapses: readonly LapseRow[]): ExplainedDay {
  const { key, validator: _, ...figures } = row
  const read = within(plan.covered, epochs)
  const byEpoch = Map.groupBy(lapses, ({ epoch }) => epoch)
  return {
    ...(Object.fromEntries(Object.keys(daySql).map((name) => [name, figures[name as keyof typeof daySql]])) as Pick<
      ExplainedDay,
      keyof typeof daySql
    >),
    day: key,
    date: formatDate(plan.line.dateOf(key)),
    startEpoch: epochs.from,
    endEpoch: epochs.until - 1,
    epochsKnown: read.every((range) => holes(plan.told, range).length === 0),
    epochs: [...byEpoch].map(([epoch, own]) => toEpoch(plan.time, epoch as Epoch, own)),
  }
}

function toEpoch(time: ChainTime, epoch: Epoch, lapses: readonly LapseRow[]): ExplainedEpoch {
  const of = (kind: LapseKind) => lapses.filter((lapse) => lapse.kind === lapseKinds.indexOf(kind))
  const [vote] = of('vote').map(toVote)
  const parts = {
    ...(vote && { vote }),
    missedBlocks: of('noBlock').map(({ slot }) => slot),
    emptyBlocks: of('emptyBlock').map(({ slot }) => slot),
    missedSyncSignatures: of('sync').reduce((sum, { missing }) => sum + missing, 0),
    slashedSlot: of('slashed')[0]?.slot ?? null,
  }
  const startTimestamp = new Date(epochStartMs(time, epoch)).toISOString()
  return { epoch, startTimestamp, ...parts, says: wordsFor(parts) }
}

function toVote({ slot, delay, best_delay, wrong }: LapseRow): NonNullable<ExplainedEpoch['vote']> {
  const included = delay > 0
  return {
    slot,
    included,
    delay: included ? delay : null,
    bestDelay: best_delay > 0 ? best_delay : null,
    nextBlockMissing: best_delay !== 1,
    targetCorrect: included ? (wrong & wrongTarget) === 0 : null,
    headCorrect: included ? (wrong & wrongHead) === 0 : null,
  }
}

function wordsFor(lapses: Omit<ExplainedEpoch, 'epoch' | 'startTimestamp' | 'says'>): string[] {
  const { vote, missedBlocks, emptyBlocks, missedSyncSignatures, slashedSlot } = lapses
  return [
    ...(vote ? voteWords(vote) : []),
    ...missedBlocks.map((slot) => `there is no block of it in slot ${slot}`),
    ...emptyBlocks.map((slot) => `its block of slot ${slot} has an empty payload`),
    ...(missedSyncSignatures > 0 ? [`${missedSyncSignatures} sync signatures are missing`] : []),
    ...(slashedSlot === null ? [] : [`it was slashed in slot ${slashedSlot}`]),
  ]
}

function voteWords(vote: NonNullable<ExplainedEpoch['vote']>): string[] {
  const { slot, delay, bestDelay, targetCorrect, headCorrect, nextBlockMissing } = vote
  const name = `the vote of slot ${slot}`
  if (delay === null) return [`${name} is missing${nextBlockMissing ? '; the next slot had no block' : ''}`]
  const excuse = !nextBlockMissing
    ? ''
    : delay === bestDelay
      ? '; there was no earlier block'
      : `; ${bestDelay} was the least possible`
  return [
    ...(targetCorrect ? [] : [`${name} names a wrong target`]),
    ...(headCorrect ? [] : [`${name} names a wrong head`]),
    ...(delay > 1 ? [`${name} was taken after ${delay} slots${excuse}`] : []),
  ]
}
