// Determines the entity of a validator from the rules that select it (behaviour/validators.md#which-rule-wins). Pure.
//
// 1. Each field has the value of the first rule that names it: rules of the operator before registries before labels;
//    then index or key, range, withdrawal address, deposit address; then the configuration before imports; then the
//    newest.
// 2. A rule with days sets the value of these days, whatever rules without days say.
import { recordFrom } from '#core/record-from.ts'
import type { Membership } from './memberships.ts'
import { type EntityField, entityFields, evidenceKinds, type FieldValue, openEnd } from './periods.ts'
import type { Selector, StoredRule } from './rules.ts'

const selectorRanks: Readonly<Record<Selector, number>> = {
  ...{ index: 0, pubkey: 0, indices: 1 },
  ...{ withdrawalAddress: 2, depositAddress: 3 },
}

/** The sources of rules that the configuration names. */
export const configuredSources = ['configuration', 'configured file'] as const

const isConfigured = (rule: StoredRule) => configuredSources.some((source) => source === rule.source)

/** In order: the first one wins. */
const byPrecedence = (a: StoredRule, b: StoredRule): number =>
  evidenceKinds.indexOf(a.kind) - evidenceKinds.indexOf(b.kind) ||
  selectorRanks[a.selector] - selectorRanks[b.selector] ||
  Number(isConfigured(b)) - Number(isConfigured(a)) ||
  b.revision - a.revision ||
  (a.source < b.source ? -1 : a.source > b.source ? 1 : 0) ||
  (a.value < b.value ? -1 : 1)

export const sortByPrecedence = (rules: readonly StoredRule[]): StoredRule[] => rules.toSorted(byPrecedence)

type NamedValue = FieldValue | null

/** What a rule says about a field. Null: that there is none. Undefined: nothing. */
export const valueOfField: Readonly<Record<EntityField, (rule: StoredRule) => NamedValue | undefined>> = {
  pool: ({ pool, subpool }) => (pool === null && subpool === null ? undefined : { name: pool, subpool, operators: [] }),
  operators: ({ nodeOperators }) =>
    nodeOperators === null
      ? undefined
      : nodeOperators.length === 0
        ? null
        : { name: null, subpool: null, operators: nodeOperators },
  dvt: ({ dvtNetwork, dvtOperators }) =>
    dvtNetwork === null && dvtOperators === null
      ? undefined
      : dvtNetwork === null && dvtOperators?.length === 0
        ? null
        : { name: dvtNetwork, subpool: null, operators: dvtOperators ?? [] },
}

/** Where a validator finds the value that a rule selects by, unless it is its own. */
const describeSelector = ({ selector, value }: StoredRule): string =>
  selector === 'indices' || selector === 'depositAddress' ? `${selector} ${value}` : selector

const membershipOf = (index: number, field: EntityField, rule: StoredRule | undefined): Membership => {
  const value = rule && valueOfField[field](rule)
  const evidence = rule && { kind: rule.kind, source: rule.source, rule: describeSelector(rule) }
  return { index, field, value: value && evidence ? { ...value, ...evidence } : null, days: undefined }
}

/** The rule about the present that names each field; undefined: none does. `rules`: in order of precedence. */
export const presentRules = (rules: readonly StoredRule[]): Readonly<Record<EntityField, StoredRule | undefined>> =>
  recordFrom(entityFields, (field) =>
    rules.find((rule) => rule.days === undefined && valueOfField[field](rule) !== undefined),
  )

/** `currentDay`: rules that begin later do not apply yet. */
export function resolveRules(index: number, rules: readonly StoredRule[], currentDay: number): Membership[] {
  const sorted = sortByPrecedence(rules)
  const ofPresent = presentRules(sorted)
  return entityFields.flatMap((field) => {
    const dated = sorted
      .filter(({ days }) => days !== undefined && days.from <= currentDay)
      .filter((rule) => valueOfField[field](rule) !== undefined)
      .map((rule) => {
        const { from = 0, until = openEnd } = rule.days ?? {}
        // A correction whose end is still to come is in force: the present has no end.
        return { ...membershipOf(index, field, rule), days: { from, until: until > currentDay ? openEnd : until } }
      })
    // The one with the highest precedence is written last.
    return [membershipOf(index, field, ofPresent[field]), ...dated.reverse()]
  })
}
