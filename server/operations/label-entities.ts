// Names pools of validators by labels of addresses, if `entities.fromLabels` is set
// (behaviour/validators.md#entities-from-labels).
//
// 1. A labelled withdrawal address names the pool of its validators: the entity of the label, or its name.
// 2. A labelled deposit address does so only if its entity is one of `stakingLabels`, all of its validators withdraw to one
//    address, and only for validators that do.
import type { Network } from '#api/contract/wire/validators.ts'
import { entityTable } from '#explorer/labels/labels.ts'
import { findLabels, type Tag, tagsOfEntity } from '#explorer/labels/tags.ts'
import { logOutcome, poll } from '#ingest/poll.ts'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import { networkSettings } from '#runtime/settings/validators.ts'
import type { StateReader } from '#storage/state.ts'
import type { ValidatorsContext } from '#validators/context.ts'
import { storedChain } from '#validators/duties/networks.ts'
import { applyRules } from '#validators/entities/apply-rules.ts'
import { type EntityRule, replaceRules } from '#validators/entities/rules.ts'
import { executionChainOf } from '#validators/network-rpc.ts'
import { toBytes, toHex } from '#validators/registry/registry.ts'

type Context = Pick<ValidatorsContext, 'ingest' | 'duties' | 'settings'>

const source = { kind: 'label', source: 'labels' } as const
const everyMs = 60_000
const attemptMs = 3_600_000
const addressesPerRead = 1000
const nameCharsMax = 256

/** Replaces all rules from labels if they differ from `before`. Returns them, and how many validators have changed. */
export async function readLabelEntities(
  context: Context,
  network: Network,
  signal: AbortSignal,
  before?: string,
): Promise<{ readonly rules: string; readonly changed: number }> {
  const { ingest, duties, settings } = context
  const { entities, execution } = networkSettings(settings, network)
  const chain = executionChainOf(network, execution, await storedChain(duties, network))
  const isOn = entities.fromLabels && chain !== undefined
  const list = isOn
    ? [
        ...(await withdrawalRules(ingest, network, chain)),
        ...(await depositRules(ingest, network, chain, entities.stakingLabels)),
      ]
    : []
  const rules = JSON.stringify(list)
  if (rules === before || signal.aborted) return { rules, changed: 0 }
  await replaceRules(ingest, network, source, list)
  return { rules, changed: await applyRules(ingest, network, signal) }
}

/** A rule for each of these labels that has a name. */
async function rulesFrom(
  state: StateReader,
  chain: string,
  selector: 'withdrawalAddress' | 'depositAddress',
  tags: readonly Tag[],
): Promise<EntityRule[]> {
  const slugs = [...new Set(tags.map(({ entity }) => entity))].filter((slug) => slug !== '')
  const entities = await entityTable.read(
    state,
    chain,
    slugs.map((slug) => ({ chain, slug })),
  )
  const nameOf = new Map(entities.map(({ slug, name }) => [slug, name]))
  return tags.flatMap(({ address, entity, name }): EntityRule[] => {
    const pool = (nameOf.get(entity) || name).slice(0, nameCharsMax)
    const others = { subpool: null, nodeOperators: null, dvtNetwork: null, dvtOperators: null }
    return pool === '' ? [] : [{ selector, value: address, days: undefined, pool, ...others }]
  })
}

async function withdrawalRules(state: StateReader, network: Network, chain: string): Promise<EntityRule[]> {
  const rules: EntityRule[] = []
  for (let last: Uint8Array = new Uint8Array(); ; ) {
    const rows = await state.all<{ address: Uint8Array }>(
      'select address from withdrawal_addresses where network = ? and address > ? order by address limit ?',
      ...[network, last, addressesPerRead],
    )
    const addresses = rows.map(({ address }) => toHex(address))
    const labels = await findLabels(state, chain, addresses)
    rules.push(...(await rulesFrom(state, chain, 'withdrawalAddress', [...labels.values()])))
    const end = rows.at(-1)
    if (!end || rows.length < addressesPerRead) return rules
    last = end.address
    await nextEventLoopTurn()
  }
}

/** Rule 2. */
async function depositRules(
  state: StateReader,
  network: Network,
  chain: string,
  stakingLabels: readonly string[],
): Promise<EntityRule[]> {
  const rules: EntityRule[] = []
  for (const slug of stakingLabels) {
    const tagged = await tagsOfEntity(state, slug, chain)
    const labels = await findLabels(state, chain, [...new Set(tagged.map(({ address }) => address))])
    // Another source may name the address with more confidence.
    const own = [...labels.values()].filter(({ entity }) => entity === slug)
    for (const rule of await rulesFrom(state, chain, 'depositAddress', own)) {
      const ownedBy = await findOnlyOwner(state, network, rule.value)
      if (ownedBy !== undefined) rules.push({ ...rule, ownedBy })
      await nextEventLoopTurn()
    }
  }
  return rules
}

/** The withdrawal address of all validators with a deposit from this address; undefined: none, or several. */
async function findOnlyOwner(
  state: StateReader,
  network: Network,
  depositAddress: string,
): Promise<string | undefined> {
  const owners = await state.all<{ address: Uint8Array }>(
    `select distinct withdrawal_address as address from validators
     where network = ? and withdrawal_address is not null and validator_index in (
       select validator_index from validator_deposits where network = ? and address = ?
     ) limit 2`,
    ...[network, network, toBytes(depositAddress)],
  )
  const [owner] = owners
  return owner && owners.length === 1 ? toHex(owner.address) : undefined
}

/** Runs until the signal aborts. Without `fromLabels`, removes what an earlier run has named. */
export async function followLabelEntities(
  context: ValidatorsContext,
  network: Network,
  signal: AbortSignal,
): Promise<void> {
  let before: string | undefined
  await poll(
    context,
    {
      ...{ everyMs, timeoutMs: attemptMs, backoffMaxMs: everyMs },
      work: async (stop) => {
        const { rules, changed } = await readLabelEntities(context, network, stop, before)
        before = rules
        if (changed > 0) context.log.info({ network, changed }, 'pools of validators named by labels')
      },
      report: (outcome) =>
        logOutcome(
          context,
          outcome,
          { network },
          {
            failed: 'pools could not be named by labels',
            recovered: 'pools are named by labels again',
          },
        ),
    },
    signal,
  )
}
