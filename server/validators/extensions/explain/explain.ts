// Extension: the duties behind one validator's score (behaviour/validators.md#explain-a-score). Days and sums are those
// of spec 4.6. In addition, each day has its missed duties by epoch, with a description.

import { extensions } from '#api/contract/extensions.ts'
import type { Parsed, Reply } from '#api/contract/kit.ts'
import {
  type ExplainedDay,
  type ExplainedEpoch,
  type ExplainedProposal,
  explainedSums,
} from '#api/contract/wire/validators-explain.ts'
import { formatDate } from '#core/calendar.ts'
import { type Epoch, type Epochs, epochStartMs, overlap } from '#core/chain-time.ts'
import { holes, type Range, within } from '#core/ranges.ts'
import { recordFrom } from '#core/record-from.ts'
import { createHandler, type HandlerResult, type RequestInfo } from '#http/handler.ts'
import type { Duties } from '#storage/duties.ts'
import type { ValidatorsContext } from '../../context.ts'
import {
  isWithheld,
  listMissedDuties,
  type MissedDuty,
  type MissedKind,
  missedEpochs,
  missedKinds,
} from '../../duties/missed.ts'
import { aggregateFigures, figures, methodHeaders } from '../../method/method.ts'
import { withStableCoverage } from '../../requests/coverage.ts'
import { pageLinks } from '../../requests/page-links.ts'
import { provisionalMissedDuties, withProvisional } from '../../requests/provisional-epochs.ts'
import { figuresAt, readRecords } from '../../requests/records.ts'
import { clipToCovered, toConfidence, withFinality } from '../../requests/requested-epochs.ts'
import { type ResolvedValidator, resolveValidator, toRecordRequest } from '../../requests/resolve-validator.ts'
import { windowsOver } from '../../requests/windows.ts'
import { describeMissed, toPayloadVote, toProposal, toVote } from './describe-missed.ts'

const endpoint = extensions['validators.explain']
type ExplainQuery = Parsed<typeof endpoint>

export const explain = createHandler(endpoint, (query, context: ValidatorsContext, request) =>
  withStableCoverage(context, query.network, () => readExplanation(query, context, request)),
)

async function readExplanation(
  query: ExplainQuery,
  context: ValidatorsContext,
  request: RequestInfo,
): Promise<HandlerResult<Reply<typeof endpoint>>> {
  const { duties } = context
  const resolved = await resolveValidator(query, context)
  if (resolved.index === undefined) return { is: 'nothing', confidence: resolved.confidence }
  const { index, requested, covered, kept, provisional, served } = resolved
  const known = withProvisional(await missedEpochs(duties, query.network), provisional).flatMap((range) =>
    within(kept, range),
  )
  const plan = served && { ...resolved, query, known, served: served.epochs }
  const windows = served && windowsOver(resolved.calendar, 'day', served.days)
  const wanted = served && toRecordRequest(query, resolved, served.days, windows, request.signal)
  const records = wanted && (await readRecords(duties, wanted, dayFigures))
  const days = records ? Array.from(records.window, (day, at) => ({ day, ...figuresAt(records, at) })) : []
  days.sort((a, b) => a.day - b.day)
  const shown = days.slice(query.offset, query.offset + query.limit)
  return {
    is: 'body',
    body: {
      validatorIndex: index,
      ...pageLinks({ endpoint, input: query, query: request.query }, days.length, request.origin),
      pages: Math.ceil(days.length / query.limit),
      results: plan ? await explainDays(duties, plan, shown) : [],
    },
    headers: methodHeaders,
    confidence: withFinality(
      { ...toConfidence(covered, requested), coverage: toConfidence(known, requested).coverage ?? 'none' },
      { isFinal: provisional.length === 0 },
    ),
  }
}

interface ExplainPlan extends Omit<ResolvedValidator, 'served'> {
  readonly query: ExplainQuery
  readonly served: Epochs
  /** Epochs whose missed duties are known. */
  readonly known: readonly Range[]
}

const { attesterEffectiveness, proposerEffectiveness, validatorEffectiveness } = figures
const dayFigures = {
  attesterEffectiveness,
  proposerEffectiveness,
  validatorEffectiveness,
  ...recordFrom(explainedSums, (name) => aggregateFigures[name]),
} as const

async function explainDays(duties: Duties, plan: ExplainPlan, rows: readonly ExplainedRow[]): Promise<ExplainedDay[]> {
  const epochsByRow = rows.map(({ day }) =>
    clipToCovered(plan.covered, overlap(plan.calendar.epochsOf(day), plan.served)),
  )
  const [first, last] = [epochsByRow[0], epochsByRow.at(-1)]
  if (!first || !last) return []
  const epochs = { from: first.from, until: last.until }
  const { provisional, index } = plan
  const stored = { from: epochs.from, until: Math.min(epochs.until, provisional[0]?.epoch ?? epochs.until) }
  const { time, query } = plan
  const missed = await listMissedDuties(duties, { network: query.network, time, validators: [index], epochs: stored })
  const all = [...missed, ...provisionalMissedDuties(provisional, index)]
  const byDay = Map.groupBy(all, ({ epoch }) => plan.calendar.dayOf(epoch as Epoch))
  return rows.map((row, at) => toDay(plan, row, epochsByRow[at] as Epochs, byDay.get(row.day) ?? []))
}

type ExplainedRow = { readonly day: number } & Readonly<Record<keyof typeof dayFigures, number | null>>

function toDay(plan: ExplainPlan, row: ExplainedRow, epochs: Epochs, missed: readonly MissedDuty[]): ExplainedDay {
  const read = within(plan.covered, epochs)
  const isProposal = ({ kind }: MissedDuty) => missedKinds[kind] === 'proposal'
  const proposals = missed.filter(isProposal).map(toProposal)
  const problems = missed.filter((duty) => !isProposal(duty) || isWithheld(duty))
  const byEpoch = Map.groupBy(problems, ({ epoch }) => epoch)
  return {
    ...(row as Pick<ExplainedDay, keyof ExplainedRow>),
    date: formatDate(plan.calendar.dateOf(row.day)),
    startEpoch: epochs.from,
    endEpoch: epochs.until - 1,
    epochsKnown: read.every((range) => holes(plan.known, range).length === 0),
    epochs: [...byEpoch].map(([epoch, duties]) => toEpoch(plan, epoch as Epoch, duties, proposals)),
    ...(proposals.length > 0 && { proposals }),
  }
}

function toEpoch(
  { time, provisional }: Pick<ExplainPlan, 'time' | 'provisional'>,
  epoch: Epoch,
  missed: readonly MissedDuty[],
  proposals: readonly ExplainedProposal[],
): ExplainedEpoch {
  const ofKind = (kind: MissedKind) => missed.filter((duty) => duty.kind === missedKinds.indexOf(kind))
  const [vote] = ofKind('vote').map(toVote)
  const [payloadVote] = ofKind('payloadVote').map(toPayloadVote)
  const withheldPayloads = ofKind('proposal').map(({ slot }) => slot)
  const parts = {
    ...(vote && { vote }),
    ...(payloadVote && { payloadVote }),
    missedBlocks: ofKind('noBlock').map(({ slot }) => slot),
    emptyBlocks: ofKind('emptyBlock').map(({ slot }) => slot),
    ...(withheldPayloads.length > 0 && { withheldPayloads }),
    missedSyncSignatures: ofKind('sync').reduce((sum, { missing }) => sum + missing, 0),
    slashedSlot: ofKind('slashed')[0]?.slot ?? null,
  }
  const startTimestamp = new Date(epochStartMs(time, epoch)).toISOString()
  const final = epoch < (provisional[0]?.epoch ?? Number.POSITIVE_INFINITY)
  return { epoch, startTimestamp, final, ...parts, messages: describeMissed(parts, proposals) }
}
