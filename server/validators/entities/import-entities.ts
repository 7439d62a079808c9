// Imports the entities behind validators (pool, operators, DVT network) from CSV or JSON files, as rules (rules.ts).
//
// 1. A record that is invalid is rejected with its line. The others are imported.
// 2. Importing the same file again changes nothing. A record replaces the one of the same source with the same selector.
// 3. A record about a validator that is not known yet applies when it appears.
import type { Network } from '#api/contract/wire/validators.ts'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import type { State } from '#storage/state.ts'
import { applyRules } from './apply-rules.ts'
import { type LocatedRecord, parseRules, type RecordReject } from './parse-rules.ts'
import { countUnmatched, putRules, replaceRules, rulesPerWrite, withoutReplaced } from './rules.ts'

export interface ImportedEntities {
  readonly records: number
  /** New, different and removed rules. */
  readonly rules: number
  /** Validators whose entity has changed. */
  readonly changed: number
  /** Records about an index or a key that no validator has yet. */
  readonly unmatched: number
  readonly rejects: readonly RecordReject[]
}

/** `replacesAll`: rules of this source that are not among the records are removed. */
export async function importEntities(
  state: State,
  network: Network,
  records: readonly LocatedRecord[],
  source: string,
  { replacesAll = false }: { readonly replacesAll?: boolean } = {},
): Promise<ImportedEntities> {
  const { rules: parsed, rejects } = parseRules(records)
  const rules = withoutReplaced(parsed)
  const from = { kind: 'rule', source } as const
  let changedRules = replacesAll ? await replaceRules(state, network, from, rules) : 0
  let unmatched = 0
  for (let at = 0; at < rules.length; at += rulesPerWrite) {
    const batch = rules.slice(at, at + rulesPerWrite)
    if (!replacesAll)
      changedRules += await state.write((tx) => putRules(tx, network, from, batch), { lock: 'registry' })
    unmatched += await countUnmatched(state, network, batch)
    await nextEventLoopTurn()
  }
  const changed = await applyRules(state, network)
  return { records: records.length, rules: changedRules, changed, unmatched, rejects }
}
