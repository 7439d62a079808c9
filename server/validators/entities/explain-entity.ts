// Explains the entity of one validator: what it is, since when, and which rule of which source names it.
import type { Network } from '#api/contract/wire/validators.ts'
import { recordFrom } from '#core/record-from.ts'
import type { EntityPeriod, ExplainedEntity } from '#shared/console-calls.ts'
import type { StateReader } from '#storage/state.ts'
import { findIndex, readEntries } from '../registry/registry.ts'
import { findRulesOfValidators } from './apply-rules.ts'
import { readEntityDays, readPeriods } from './memberships.ts'
import { entityFields, openEnd, type Period } from './periods.ts'
import { presentRules, sortByPrecedence } from './resolve-rules.ts'

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
      const { days, revision: _revision, ownedBy: _ownedBy, ...rest } = rule
      const untilDay = days && days.until !== openEnd ? days.until : null
      const names = entityFields.filter((field) => ofPresent[field] === rule)
      return { ...rest, fromDay: days?.from ?? null, untilDay, names }
    }),
  }
}

const toExplainedPeriod = ({ from, until, ...rest }: Period): EntityPeriod => ({
  ...{ fromDay: from, untilDay: until === openEnd ? null : until },
  ...rest,
})
