// What alerts examine of the epochs that were stored last, from their states and blocks, so that no node is asked for it
// again.
import type { Network } from '#api/contract/wire/validators.ts'
import { firstSlotOf } from '#core/chain-time.ts'
import type { Range } from '#core/ranges.ts'
import type { Block } from '#sources/beacon/block.ts'
import type { ValidatorsContext } from '../../context.ts'
import type { SegmentAlerts } from '../epochs/processed-segment.ts'

/** Alerts examine epochs seconds after they are stored, and days later after an interruption. */
const epochsMax = 1000

export interface AlertSources {
  /** The stored epochs, in ascending order. */
  readonly epochs: Range
  /** By watched validators in these epochs, in ascending order. */
  readonly proposed: readonly Block[]
  /** The queue of deposits at the end of the epochs. Undefined: the watch list has no keys and addresses. */
  readonly deposits: Uint8Array | undefined
}

export function addAlertSources(
  { validators }: Pick<ValidatorsContext, 'validators'>,
  { network, slotsPerEpoch }: { readonly network: Network; readonly slotsPerEpoch: number },
  { from, until }: Range,
  alerts: SegmentAlerts | undefined,
): void {
  if (!alerts) return void validators.examined.delete(network)
  const before = validators.examined.get(network)
  const [first, earlier] = before?.epochs.until === from ? [before.epochs.from, before.proposed] : [from, []]
  const kept = Math.max(first, until - epochsMax)
  const proposed = [...earlier.filter(({ slot }) => slot >= firstSlotOf({ slotsPerEpoch }, kept)), ...alerts.proposed]
  validators.examined.set(network, { epochs: { from: kept, until }, proposed, deposits: alerts.deposits })
}
