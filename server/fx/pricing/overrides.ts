// What the operator changes about pricing while servers run: a pause, or a spread, of all pairs or of one
// (behaviour/fx.md#overrides).
//
// 1. A quote is stored only if no override was changed since it was priced. The transaction of the quote locks the revision
//    of the overrides until its commit (quotes.ts, rule 2). So once a pause is committed, no quote commits that was priced
//    without it, on any server.
// 2. A change waits for the quotes that are being stored. Quotes that come later wait for the change.
import type { ReceiptRule } from '#api/contract/wire/fx-extensions.ts'
import { formatDecimal } from '#core/decimal.ts'
import { Fault, invalid } from '#core/fault.ts'
import type { FxSettings } from '#runtime/settings/fx.ts'
import type { OverrideView } from '#shared/console-calls.ts'
import type { StateReader, StateWriter } from '#storage/state.ts'
import type { FxContext } from '../context.ts'
import { toPpm } from './resolve-offer.ts'
import type { RuledOffer } from './rule-offer.ts'
import { combineRules, type RuledQuote } from './rules.ts'

/** The id of the spread of an override in receipts. Rules of the settings cannot have it. */
export const overrideRuleId = 'override'

export interface Override {
  /** Two tokens in alphabetical order, for both directions. Null: all pairs. */
  readonly pair: string | null
  readonly paused: boolean
  /** Null: no other spread. */
  readonly spreadPpm: number | null
  readonly changedMs: number
  readonly changedBy: string
}

export interface Overrides {
  /** Grows with every change. */
  readonly revision: number
  readonly list: readonly Override[]
}

export interface OverrideChange {
  /** `EURC/USDC`, in any order. Null: all pairs. */
  readonly pair: string | null
  readonly paused?: boolean | undefined
  /** Null ends the spread. */
  readonly spreadBps?: string | number | null | undefined
}

interface Row {
  readonly revision: number
  /** Null: there is no override. */
  readonly pair: string | null
  readonly paused: number
  readonly spreadPpm: number | null
  readonly changedMs: number
  readonly changedBy: string
}

/** One statement, so that the list belongs to the revision. */
const select = `select r.revision, o.pair, o.paused, o.spread_ppm as "spreadPpm", o.changed_ms as "changedMs",
  o.changed_by as "changedBy" from fx_override_revision r left join fx_overrides o on true order by o.pair`

export async function readOverrides(reader: StateReader): Promise<Overrides> {
  const rows = await reader.all<Row>(select)
  const list = rows.flatMap(({ revision: _, pair, paused, ...row }) =>
    pair === null ? [] : [{ ...row, pair: pair === '' ? null : pair, paused: paused === 1 }],
  )
  return { revision: rows[0]?.revision ?? 0, list }
}

/** As this process knows them. Another process may have changed them since; then storing the quote fails (rule 1). */
export const knownOverrides = async ({ fx, state }: Pick<FxContext, 'fx' | 'state'>): Promise<Overrides> =>
  fx.overrides(state, 'all', () => readOverrides(state))

/** Throws a fault if the pair is paused. A spread of the pair replaces one of all pairs, and that of the rules. */
export function applyOverrides(offer: RuledOffer, { list }: Overrides, quote: RuledQuote): RuledOffer {
  const pair = pairName(quote.from, quote.to)
  const applying = list.filter((override) => override.pair === null || override.pair === pair)
  const paused = applying.find((override) => override.paused)
  if (paused) {
    const { changedBy, changedMs } = paused
    throw new Fault('fx.stopped', {
      detail: `${quote.from}/${quote.to}: ${paused.pair ?? 'all pairs'} paused by ${changedBy} at ${new Date(changedMs).toISOString()}`,
    })
  }
  // That of all pairs comes first.
  const spread = applying.findLast(({ spreadPpm }) => spreadPpm !== null)
  if (!spread) return offer
  const rules: readonly ReceiptRule[] = [
    ...offer.rules,
    {
      ...{ id: overrideRuleId, pair: spread.pair, tenors: [], minSize: null, when: null },
      ...{ spreadPpm: spread.spreadPpm, skewPpm: null },
    },
  ]
  return { ...offer, ...combineRules(offer.basicSpreadPpm, rules, quote), rules }
}

const pairName = (one: string, other: string): string => [one, other].sort().join('/')

const put = `insert into fx_overrides (pair, paused, spread_ppm, changed_ms, changed_by) values (?, ?, ?, ?, ?)
  on conflict (pair) do update set paused = excluded.paused, spread_ppm = excluded.spread_ppm,
    changed_ms = excluded.changed_ms, changed_by = excluded.changed_by`

/** Changes what is given, for all quotes that commit after it. Returns all overrides. */
export function changeOverride(
  { state, clock, settings }: Pick<FxContext, 'state' | 'clock'> & { readonly settings: { readonly fx: FxSettings } },
  change: OverrideChange,
  changedBy: string,
): Promise<Overrides> {
  const pair = change.pair === null ? null : knownPair(settings.fx, change.pair)
  const { paused, spreadBps } = change
  const changedMs = clock.now()
  return state.write(
    async (tx) => {
      await lockRevision[state.engine](tx)
      await tx.run('update fx_override_revision set revision = revision + 1')
      const before = (await readOverrides(tx)).list.find((override) => override.pair === pair)
      const spreadPpm =
        spreadBps === undefined ? (before?.spreadPpm ?? null) : spreadBps === null ? null : Number(toPpm(spreadBps))
      const isPaused = paused ?? before?.paused ?? false
      await tx.run(put, pair ?? '', isPaused ? 1 : 0, spreadPpm, changedMs, changedBy)
      return readOverrides(tx)
    },
    { lock: 'settings' },
  )
}

/** Rule 2. With the lock of the row alone, quotes that overlap could let a change wait for ever. */
const lockRevision = {
  sqlite: async (_: StateWriter) => {},
  postgres: async (tx: StateWriter) => void (await tx.run('lock table fx_override_revision in exclusive mode')),
} as const

function knownPair({ tokens }: FxSettings, pair: string): string {
  const [one = '', other = ''] = pair.split('/')
  const codes = tokens.map(({ code }) => code)
  if (one !== other && codes.includes(one) && codes.includes(other)) return pairName(one, other)
  throw invalid(['body', 'pair'], `must be two of the tokens ${codes.join(', ')}, such as EURC/USDC`, pair)
}

/** As commands and the console show it. */
export const overrideView = ({ pair, paused, spreadPpm, changedMs, changedBy }: Override): OverrideView => ({
  pair: pair ?? 'all',
  paused,
  spreadBps: spreadPpm === null ? null : basisPoints(spreadPpm),
  changedAt: new Date(changedMs).toISOString(),
  changedBy,
})

const basisPoints = (ppm: number): string => formatDecimal({ digits: BigInt(ppm), scale: 2 }).replace(/\.?0+$/, '')
