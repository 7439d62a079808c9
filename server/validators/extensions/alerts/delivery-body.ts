// The JSON body of a delivery (docs/alerts.md). One delivery is about all validators with the same event in one epoch:
// an outage of 1000 validators is one request.
import type { Network } from '#api/contract/wire/validators.ts'
import { type ChainTime, type Epoch, epochStartMs } from '#core/chain-time.ts'
import type { WebhookEvent } from '#runtime/settings/webhooks.ts'
import type { Alert } from './find-alerts.ts'

/** Validators that are listed in the body. `count` is the number of all. */
export const listedMax = 100
/** Validators in the text. */
const namedMax = 5

export type Finality = 'head' | 'finalized'

export type DeliveryBody = ReturnType<typeof deliveryBody>

export interface BodyInput {
  readonly id: string
  readonly network: Network
  readonly time: ChainTime
  readonly nowMs: number
  readonly alert: Alert
  readonly finality: Finality
}

export const deliveryBody = ({ id, network, time, nowMs, alert, finality }: BodyInput) => ({
  id,
  event: alert.event,
  /** For people, on one line. */
  text: alertText(network, alert, finality),
  createdAt: new Date(nowMs).toISOString(),
  network,
  epoch: alert.epoch,
  epochEndedAt: new Date(epochStartMs(time, (alert.epoch + 1) as Epoch)).toISOString(),
  /** `head`: the epoch is not final, so that the event may be withdrawn. */
  finality,
  count: alert.validators.length,
  validators: alert.validators.slice(0, listedMax),
})

const eventTexts: Readonly<Record<WebhookEvent, string>> = {
  attestations_missed: 'missed attestations in a row',
  block_missed: 'missed a block',
  block_empty: 'proposed a block without transactions, or with an own payload that is not part of the chain',
  payload_withheld: 'proposed a block whose builder did not deliver the payload',
  fee_recipient_wrong: 'proposed a block that pays an unexpected fee recipient',
  relay_unknown: 'proposed a block that no configured relay delivered',
  slashed: 'slashed',
  balance_decreased: 'lost balance in the last chain hour',
  exit: 'leaving the network',
  below_programme: 'not above the threshold of a programme',
  above_programme: 'above the threshold of a programme again',
  recovered: 'back to normal',
  withdrawn: 'not affected: the chain was reorganized',
  fork: 'about to fork',
}

function alertText(network: Network, { event, epoch, validators }: Alert, finality: Finality): string {
  const named = validators.slice(0, namedMax).map(({ index }) => index)
  const more = validators.length > namedMax ? ` and ${validators.length - namedMax} more` : ''
  const subject = validators.length === 1 ? '1 validator' : `${validators.length} validators`
  const epochText = `${network}, epoch ${epoch}${finality === 'head' ? ' (not final)' : ''}`
  return `${epochText}: ${subject} ${eventTexts[event]}: ${named.join(', ')}${more}`
}

/** A body to test a webhook with. */
export const testBody = (id: string, nowMs: number) => ({
  id,
  event: 'test',
  text: 'Test delivery of Tetrad',
  createdAt: new Date(nowMs).toISOString(),
})
