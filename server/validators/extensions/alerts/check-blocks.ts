// Checks the blocks that watched validators proposed: whether the fee recipient is one of those in the settings, and
// whether one of the configured relays delivered the payload (behaviour/validators.md#alerts).
import type { Network } from '#api/contract/wire/validators.ts'
import type { Range } from '#core/ranges.ts'
import type { ExpectedFeeRecipients } from '#runtime/settings/webhooks.ts'
import type { Block, Payload } from '#sources/beacon/block.ts'
import { type Beacon, BeaconError } from '#sources/beacon/client.ts'
import { epochAt, firstSlotAt } from '#sources/beacon/consensus.ts'
import { transferRecipient } from '#sources/beacon/transfer-recipient.ts'
import { FetchError } from '#sources/http-client.ts'
import type { ValidatorsContext } from '../../context.ts'
import { createBeaconQueries } from '../../ingest/read/beacon-queries.ts'
import type { AlertSources } from '../../ingest/write/alert-sources.ts'
import { type DeliveredPayload, openRelays, type Relays } from './relays.ts'
import { createFeeRecipientReader } from './self-built-payloads.ts'
import type { BlockProblem } from './series.ts'
import type { WatchedValidator } from './watched-validators.ts'

export interface FoundBlockProblem extends BlockProblem {
  readonly epoch: number
  readonly slot: number
  readonly feeRecipient: string
}

type Watched = ReadonlyMap<number, WatchedValidator>

/** The problems of all blocks that watched validators proposed in these epochs, by slot. */
export type CheckBlocks = (epochs: Range, watched: Watched, signal?: AbortSignal) => Promise<FoundBlockProblem[]>

const headersAtOnce = 8

/** Undefined: the settings have nothing to compare blocks of this network with. */
export function createBlockCheck(
  context: Pick<ValidatorsContext, 'settings' | 'log' | 'clock' | 'validators'>,
  network: Network,
  beacon: Beacon,
): CheckBlocks | undefined {
  const { settings, log } = context
  const { expectedFeeRecipients, relays: allRelays } = settings.validators
  const rules = expectedFeeRecipients.filter((rule) => rule.network === network)
  const urls = allRelays.filter((relay) => relay.network === network).map(({ url }) => url)
  if (rules.length === 0 && urls.length === 0) return undefined
  const relays = urls.length > 0 ? openRelays(urls) : undefined
  const readFeeRecipient = createFeeRecipientReader(context, network, beacon)
  return async (epochs, watched, signal) => {
    const problems: FoundBlockProblem[] = []
    const { rules: chainRules } = await beacon.chain(signal)
    for (const block of await readBlocks(beacon, epochs, watched, context.validators.examined.get(network), signal)) {
      const epoch = epochAt(chainRules, block.slot)
      const { slot, proposer, payload, bid } = block
      const accepted = acceptedAddresses(rules, watched.get(proposer))
      // Since Gloas, the bid of a builder names the address that it pays. There is no relay.
      const feeRecipient =
        bid && accepted && (bid.builder === undefined ? await readFeeRecipient(block, signal) : bid.feeRecipient)
      if (feeRecipient && !accepted.includes(feeRecipient))
        problems.push({ validator: proposer, epoch, slot, feeRecipient, duty: 'wrong_fee_recipient' })
      if (!payload) continue
      const delivered = relays && (await askRelays({ relays, log, network }, slot, payload, signal))
      const found = { validator: proposer, epoch, slot, feeRecipient: payload.feeRecipient }
      if (accepted && isWrongRecipient(payload, delivered, accepted))
        problems.push({ ...found, duty: 'wrong_fee_recipient' })
      if (delivered === null) problems.push({ ...found, duty: 'unknown_relay' })
    }
    return problems
  }
}

/** The blocks of watched validators. The node is asked for those of epochs that were stored before the server started. */
async function readBlocks(
  beacon: Beacon,
  epochs: Range,
  watched: Watched,
  known: AlertSources | undefined,
  signal: AbortSignal | undefined,
): Promise<Block[]> {
  const { rules } = await beacon.chain(signal)
  const queries = createBeaconQueries(beacon, rules, signal)
  const found: Block[] = []
  const isKnown = (epoch: number) => known !== undefined && known.epochs.from <= epoch && epoch < known.epochs.until
  for (let epoch = epochs.from; epoch < epochs.until; epoch++) {
    const [first, until] = [firstSlotAt(rules, epoch), firstSlotAt(rules, epoch + 1)]
    if (isKnown(epoch)) {
      const isIn = ({ slot, proposer }: Block) => slot >= Math.max(1, first) && slot < until && watched.has(proposer)
      found.push(...(known?.proposed.filter(isIn) ?? []))
      continue
    }
    for (let from = Math.max(1, first); from < until; from += headersAtOnce) {
      const slots = Array.from({ length: Math.min(headersAtOnce, until - from) }, (_, at) => from + at)
      for (const header of await Promise.all(slots.map((slot) => queries.header(slot)))) {
        if (!header || !watched.has(header.proposer)) continue
        const block = await queries.block(header.slot)
        if (!block) throw new BeaconError(`the node has the header of slot ${header.slot}, but not the block`)
        found.push(block)
      }
    }
  }
  return found
}

/** Undefined: it is unknown whether a relay delivered the payload. */
async function askRelays(
  { relays, log, network }: { readonly relays: Relays; readonly network: Network } & Pick<ValidatorsContext, 'log'>,
  slot: number,
  { hash }: Payload,
  signal: AbortSignal | undefined,
): Promise<DeliveredPayload | null | undefined> {
  try {
    return await relays.find(slot, hash, signal)
  } catch (error) {
    signal?.throwIfAborted()
    if (!(error instanceof FetchError)) throw error
    log.warn({ network, slot, reason: error.message }, 'a relay did not answer; its payload is not checked')
    return undefined
  }
}

/** Lower-case. Undefined: no entry matches the validator. */
export function acceptedAddresses(
  rules: readonly ExpectedFeeRecipients[],
  validator: WatchedValidator | undefined,
): readonly string[] | undefined {
  const rule = rules.find(
    ({ pool, operator, validators }) =>
      (pool === undefined || pool === validator?.pool) &&
      (operator === undefined || operator === validator?.operator) &&
      (validators === undefined || (validator !== undefined && validators.includes(validator.index))),
  )
  return rule?.addresses.map((address) => address.toLowerCase())
}

/**
 * The fees go to the fee recipient of the payload. If that is a builder, it pays the proposer: with one of the last
 * transactions, or as a relay states. A transaction that cannot be read may be the payment.
 */
export function isWrongRecipient(
  { feeRecipient, lastTransactions }: Pick<Payload, 'feeRecipient' | 'lastTransactions'>,
  delivered: DeliveredPayload | null | undefined,
  accepted: readonly string[],
): boolean {
  if (accepted.includes(feeRecipient)) return false
  if (delivered && accepted.includes(delivered.proposerFeeRecipient)) return false
  const recipients = lastTransactions.map(transferRecipient)
  return !recipients.some((recipient) => recipient === undefined || (recipient && accepted.includes(recipient)))
}
