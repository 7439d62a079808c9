// Beyond the specification: the duties behind one validator's score (decision 0121). The days and their sums are those of 4.6;
// beside them are the missed duties, epoch by epoch, and what can be said for them.
import { extensions } from '#api/extensions.ts'
import type { Parsed, Reply } from '#api/kit.ts'
import type { AggregateField } from '#api/wire/validators.ts'
import { type ExplainedDay, type ExplainedEpoch, explainedSums } from '#api/wire/validators-explain.ts'
import { formatDate } from '#core/calendar.ts'
import { type ChainTime, type Epoch, type Epochs, epochStartMs, overlap } from '#core/chain-time.ts'
import { holes, type Range, within } from '#core/ranges.ts'
import { answer, type Outcome, type Visit } from '#serve/answer.ts'
import type { Duties } from '#store/duties.ts'
import type { ValidatorsContext } from './context.ts'
import {
  type MissedDuty,
  type MissedKind,
  missedEpochs,
  missedKinds,
  readMissedDuties,
  wrongHead,
  wrongTarget,
} from './duties/missed.ts'
import { linksOf } from './links.ts'
import { aggregateFigures, type Figure, figures, methodHeaders, type PlaceField } from './method.ts'
import { type One, readOne } from './one.ts'
import { figuresAt, type RecordsWanted, readRecords } from './records.ts'
import { shape } from './shape.ts'
import { confidenceOf, cutToRead } from './span.ts'
import { atOneCoverage } from './standing.ts'
import { windowsOver } from './windows.ts'

const endpoint = extensions['validators.explain']
type Query = Parsed<typeof endpoint>

export const explain = answer(endpoint, shape, (query, context: ValidatorsContext, visit) =>
  atOneCoverage(context, query.network, () => explained(query, context, visit)),
)

async function explained(
  query: Query,
  context: ValidatorsContext,
  visit: Visit,
): Promise<Outcome<Reply<typeof endpoint>>> {
  const { duties } = context
  const one = await readOne(query, context)
  if (one.index === undefined) return { is: 'nothing', confidence: one.confidence }
  const { index, asked, covered, kept, served } = one
  const known = (await missedEpochs(duties, query.network)).flatMap((range) => within(kept, range))
  const plan = served && { ...one, query, known, served: served.epochs }
  const wanted = served && wantedOf(query, one, served.days, visit.signal)
  const found = wanted && (await readRecords(duties, wanted, dayFigures))
  const days = found ? Array.from(found.window, (day, at) => ({ day, ...figuresAt(found, at) })) : []
  days.sort((a, b) => a.day - b.day)
  const shown = days.slice(query.offset, query.offset + query.limit)
  return {
    is: 'body',
    body: {
      validatorIndex: index,
      ...linksOf(endpoint, query, days.length, visit.origin),
      pages: Math.ceil(days.length / query.limit),
      results: plan ? await explainDays(duties, plan, shown) : [],
    },
    headers: methodHeaders,
    confidence: { ...confidenceOf(covered, asked), coverage: confidenceOf(known, asked).coverage ?? 'none' },
  }
}

interface Plan extends Omit<One, 'served'> {
  readonly query: Query
  readonly served: Epochs
  /** Epochs whose missed duties are known. */
  readonly known: readonly Range[]
}

const wantedOf = (
  { network, utc }: Query,
  { time, line, index }: One,
  days: Range,
  signal: AbortSignal | undefined,
): RecordsWanted => ({
  ...{ network, time, days, signal, who: [index], isUtc: utc, byValidator: false },
  windows: windowsOver(line, 'day', days),
})

const { attesterEffectiveness, proposerEffectiveness, validatorEffectiveness } = figures
const dayFigures = {
  attesterEffectiveness,
  proposerEffectiveness,
  validatorEffectiveness,
  ...(Object.fromEntries(explainedSums.map((name) => [name, figureOf(name)])) as Record<Sum, Figure>),
} as const

type Sum = (typeof explainedSums)[number]
function figureOf(name: Exclude<AggregateField, PlaceField> & Sum): Figure {
  return aggregateFigures[name]
}

async function explainDays(duties: Duties, plan: Plan, rows: readonly Row[]): Promise<ExplainedDay[]> {
  const places = rows.map(({ day }) => cutToRead(plan.covered, overlap(plan.line.epochsOf(day), plan.served)))
  const [first, last] = [places[0], places.at(-1)]
  if (!first || !last) return []
  const epochs = { from: first.from, until: last.until }
  const missed = await readMissedDuties(duties, plan.query.network, plan.time, plan.index, epochs)
  const byDay = Map.groupBy(missed, ({ epoch }) => plan.line.dayOf(epoch as Epoch))
  return rows.map((row, at) => toDay(plan, row, places[at] as Epochs, byDay.get(row.day) ?? []))
}

type Row = { readonly day: number } & Readonly<Record<keyof typeof dayFigures, number | null>>

function toDay(plan: Plan, row: Row, epochs: Epochs, missed: readonly MissedDuty[]): ExplainedDay {
  const read = within(plan.covered, epochs)
  const byEpoch = Map.groupBy(missed, ({ epoch }) => epoch)
  return {
    ...(row as Pick<ExplainedDay, keyof Row>),
    date: formatDate(plan.line.dateOf(row.day)),
    startEpoch: epochs.from,
    endEpoch: epochs.until - 1,
    epochsKnown: read.every((range) => holes(plan.known, range).length === 0),
    epochs: [...byEpoch].map(([epoch, own]) => toEpoch(plan.time, epoch as Epoch, own)),
  }
}

function toEpoch(time: ChainTime, epoch: Epoch, missed: readonly MissedDuty[]): ExplainedEpoch {
  const of = (kind: MissedKind) => missed.filter((one) => one.kind === missedKinds.indexOf(kind))
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

function toVote({ slot, delay, best_delay, wrong }: MissedDuty): NonNullable<ExplainedEpoch['vote']> {
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
