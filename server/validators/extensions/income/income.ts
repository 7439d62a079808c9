// Extension: the income statement of validators by day (behaviour/validators.md#income). Rewards and penalties are the
// sums of 4.5. Deposits, withdrawals and consolidations are apart, so that each day explains the change of balances.
import { extensions } from '#api/contract/extensions.ts'
import type { Reply } from '#api/contract/kit.ts'
import { executionIncome, type IncomeDay, incomeAmounts } from '#api/contract/wire/validators-income.ts'
import { formatDate } from '#core/calendar.ts'
import { chainDays, type DayCalendar, type Epoch, type Epochs, overlap, utcDays } from '#core/chain-time.ts'
import { recordFrom } from '#core/record-from.ts'
import { createHandler, type HandlerResult } from '#http/handler.ts'
import type { ValidatorsContext } from '#validators/context.ts'
import type { Measure } from '#validators/method/measures.ts'
import { aggregateFigures, type Figure, methodHeaders } from '#validators/method/method.ts'
import { getKeptEpochs, getRowCoverage, withStableCoverage } from '#validators/requests/coverage.ts'
import { figuresAt, readRecords } from '#validators/requests/records.ts'
import { refuseUnread } from '#validators/requests/refuse-unless-unknown.ts'
import {
  chainTimeOf,
  clipToCovered,
  requestedDays,
  servedEpochs,
  toConfidence,
} from '#validators/requests/requested-epochs.ts'
import { windowsOver } from '#validators/requests/windows.ts'
import { type IncomeQuery, selectValidators } from './select-validators.ts'

const endpoint = extensions['validators.income']

export const income = createHandler(endpoint, (query, context: ValidatorsContext, { signal }) =>
  withStableCoverage(context, query.network, () => readIncome(query, context, signal)),
)

async function readIncome(
  query: IncomeQuery,
  context: ValidatorsContext,
  signal: AbortSignal | undefined,
): Promise<HandlerResult<Reply<typeof endpoint>>> {
  const { duties, settings } = context
  const { network } = query
  const time = chainTimeOf(settings, network)
  const calendar: DayCalendar = query.utc ? utcDays(time) : chainDays(time)
  const requested = requestedDays(query, calendar)
  const [validators, coverage] = await Promise.all([
    selectValidators(context, query),
    getRowCoverage(context, network, time),
  ])
  const { covered, figures } = coverage
  if (covered.length === 0) refuseUnread(context, network)
  const confidence = toConfidence(covered, requested, await getKeptEpochs(context, network, coverage, validators))
  if (validators.length === 0) return { is: 'nothing', confidence }
  const served = servedEpochs(covered, requested)
  const days: IncomeDay[] = []
  if (served) {
    const span = { from: calendar.dayOf(served.from), until: calendar.dayOf((served.until - 1) as Epoch) + 1 }
    const records = await readRecords(
      duties,
      {
        ...{ network, time, validators, figures, signal, days: span, byValidator: false, isUtc: query.utc },
        windows: windowsOver(calendar, 'day', span),
      },
      dayFigures,
    )
    for (const [at, day] of records.window.entries()) {
      const epochs = clipToCovered(covered, overlap(calendar.epochsOf(day), served))
      days.push(toIncomeDay(calendar, day, epochs, figuresAt(records, at)))
    }
    days.sort((a, b) => a.day - b.day)
  }
  const body = { validators: validators.length, days, total: totalOf(days) }
  return { is: 'body', body, headers: methodHeaders, confidence }
}

const measured = (name: Measure): Figure => ({ measures: [name], scores: [], of: (values) => values.sum(name) })

const dayFigures = {
  attestationRewards: measured('attestation_reward'),
  syncRewards: measured('sync_reward'),
  blockRewards: measured('block_reward'),
  penalties: aggregateFigures.estimatedPenalties,
  slashings: measured('slashing_penalty'),
  earnings: measured('earnings'),
  deposits: measured('deposited'),
  withdrawals: measured('withdrawn'),
  consolidations: measured('consolidated'),
  priorityFees: aggregateFigures.sumPriorityFees,
  mev: aggregateFigures.sumBaselineMev,
} as const

function toIncomeDay(
  calendar: DayCalendar,
  day: number,
  epochs: Epochs,
  figures: Readonly<Record<keyof typeof dayFigures, number | null>>,
): IncomeDay {
  const gwei = (name: keyof typeof dayFigures) => figures[name] ?? 0
  const rewards = gwei('attestationRewards') + gwei('syncRewards') + gwei('blockRewards')
  return {
    day,
    date: formatDate(calendar.dateOf(day)),
    startEpoch: epochs.from,
    endEpoch: epochs.until - 1,
    attestationRewards: gwei('attestationRewards'),
    syncRewards: gwei('syncRewards'),
    blockRewards: gwei('blockRewards'),
    penalties: gwei('penalties'),
    slashings: gwei('slashings'),
    shift: gwei('earnings') - rewards - gwei('penalties') - gwei('slashings'),
    earnings: gwei('earnings'),
    deposits: gwei('deposits'),
    withdrawals: gwei('withdrawals'),
    consolidations: gwei('consolidations'),
    balanceChange: gwei('earnings') + gwei('deposits') + gwei('consolidations') - gwei('withdrawals'),
    priorityFees: figures.priorityFees,
    mev: figures.mev,
  }
}

/** An unknown amount of one day makes the total unknown. */
function totalOf(days: readonly IncomeDay[]): Reply<typeof endpoint>['total'] {
  const sum = (name: (typeof incomeAmounts)[number]) => days.reduce((total, day) => total + Number(day[name]), 0)
  const sumIfKnown = (name: (typeof executionIncome)[number]) =>
    days.some((day) => day[name] === null) ? null : days.reduce((total, day) => total + Number(day[name]), 0)
  return { ...recordFrom(incomeAmounts, sum), ...recordFrom(executionIncome, sumIfKnown) }
}
