// Explains the entity of one validator: what it is, since when, and which rule of which source names it.
import type { Network } from '#api/contract/wire/validators.ts'
import { recordFrom } from '#core/record-from.ts'
import type { StateReader } from '#storage/state.ts'
import { findIndex, readEntries } from '../registry/registry.ts'
import { findRulesOfValidators } from './apply-rules.ts'
import { readEntityDays, readPeriods } from './memberships.ts'
import { type EntityField, entityFields, openEnd, type Period } from './periods.ts'
import { presentRules, sortByPrecedence } from './resolve-rules.ts'
import type { StoredRule } from './rules.ts'

export interface ExplainedPeriod extends Omit<Period, 'from' | 'until'> {
  readonly fromDay: number
  /** The day after the last one; null: the period has not ended. */
  readonly untilDay: number | null
}

export interface ExplainedRule extends Omit<StoredRule, 'days' | 'revision'> {
  readonly fromDay: number | null
  readonly untilDay: number | null
  /** The fields of the present entity that this rule names. */
  readonly names: readonly EntityField[]
}

export interface ExplainedEntity {
  readonly validatorIndex: number
  readonly validatorPubkey: string
  readonly withdrawalAddress: string | null
  /** The first chain day that is not over; null: no epoch has been read. */
  readonly currentDay: number | null
  /** Newest first. */
  readonly periods: Readonly<Record<EntityField, readonly ExplainedPeriod[]>>
  /** All rules that select the validator. The first one that names a field wins. */
  readonly rules: readonly ExplainedRule[]
}

/** Undefined: the validator is not known. */
export async function explainEntity(
  state: StateReader,
  network: Network,
  indexOrPubkey: string,
): Promise<ExplainedEntity | undefined> {
  const index = await findIndex(state, network, indexOrPubkey)
  const [entry] = index === undefined ? [] : await readEntries(state, network, [index])
  if (!entry) return undefined
  const fields = (await readPeriods(state, network, [entry.index])).get(entry.index)
  const rules = sortByPrecedence((await findRulesOfValidators(state, network, [entry.index])).get(entry.index) ?? [])
  const ofPresent = presentRules(rules)
  return {
    validatorIndex: entry.index,
    validatorPubkey: entry.pubkey,
    withdrawalAddress: entry.withdrawalAddress,
    currentDay: (await readEntityDays(state, network))?.currentDay ?? null,
    periods: recordFrom(entityFields, (field) => (fields?.get(field) ?? []).toReversed().map(toExplainedPeriod)),
    rules: rules.map((rule) => {
      const { days, revision: _, ...rest } = rule
      const untilDay = days && days.until !== openEnd ? days.until : null
      const names = entityFields.filter((field) => ofPresent[field] === rule)
      return { ...rest, fromDay: days?.from ?? null, untilDay, names }
    }),
  }
}

const toExplainedPeriod = ({ from, until, ...rest }: Period): ExplainedPeriod => ({
  ...{ fromDay: from, untilDay: until === openEnd ? null : until },
  ...rest,
})
