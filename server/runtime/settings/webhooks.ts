// Settings of alerts about watched validators: webhooks, and what the blocks of these validators are compared with.

import { oneOf, PatternText, type Static, Type, withDefault } from '#api/contract/kit.ts'
import { type Network, networkNamePattern } from '#api/contract/wire/networks.ts'
import { comparedDaysMax, comparedFigures } from '#api/contract/wire/validators-comparison.ts'
import { integer, list, object, wholeNumber } from './server.ts'
import { webhookTarget } from './webhook-target.ts'

/** In the order of the documentation (docs/alerts.md). */
export const webhookEvents = [
  'attestations_missed',
  'block_missed',
  'block_empty',
  'payload_withheld',
  'fee_recipient_wrong',
  'relay_unknown',
  'slashed',
  'balance_decreased',
  'exit',
  'below_programme',
  'above_programme',
  'recovered',
  'withdrawn',
  'fork',
] as const
export type WebhookEvent = (typeof webhookEvents)[number]

const { id, url, secret, timeoutMs } = webhookTarget
export const Webhook = object({
  id,
  url,
  secret,
  events: withDefault(
    Type.Array(oneOf(webhookEvents), { minItems: 1, uniqueItems: true, description: 'Events to send.' }),
    [...webhookEvents],
  ),
  minMissedInARow: integer(2, 1, 32, 'Missed attestations in a row after which `attestations_missed` is sent.'),
  minLossGwei: wholeNumber(1, 'Loss of a validator in one chain hour from which `balance_decreased` is sent.', 1),
  timeoutMs,
})
export type WebhookSettings = Static<typeof Webhook>

const NetworkName = (description: string) =>
  Type.Unsafe<Network>({ type: 'string', pattern: networkNamePattern, description })

const ExpectedFeeRecipients = object({
  network: NetworkName('Network of the validators.'),
  pool: Type.Optional(Type.String({ description: 'Only validators of this pool.' })),
  operator: Type.Optional(Type.String({ description: 'Only validators whose first node operator this is.' })),
  validators: Type.Optional(
    Type.Array(Type.Integer({ minimum: 0 }), { maxItems: 100_000, description: 'Only these indices.' }),
  ),
  addresses: Type.Array(Type.String({ pattern: '^0x[0-9a-fA-F]{40}$' }), {
    minItems: 1,
    maxItems: 100,
    description: 'Accepted fee recipients.',
  }),
})
export type ExpectedFeeRecipients = Static<typeof ExpectedFeeRecipients>

const Programme = object({
  network: NetworkName('Network of the validators.'),
  name: Type.String({ pattern: '^[a-z0-9-]{1,32}$', description: 'Name in responses, alerts and metrics.' }),
  figure: withDefault(oneOf(comparedFigures, { description: 'Figure that must be above the threshold.' }), 'uptime'),
  basisPoints: integer(
    500,
    0,
    10_000,
    'How far the threshold is below the mean of the network, in hundredths of a point: 500 is 5 of 100 points.',
  ),
  days: integer(28, 1, comparedDaysMax, 'The last chain days that count.'),
  pool: Type.Optional(Type.String({ description: 'Only validators of this pool.' })),
  operator: Type.Optional(Type.String({ description: 'Only validators whose first node operator this is.' })),
  validators: Type.Optional(
    Type.Array(Type.Integer({ minimum: 0 }), { maxItems: 100_000, description: 'Only these indices.' }),
  ),
})
export type Programme = Static<typeof Programme>

const Relay = object({
  network: NetworkName('Network of the relay.'),
  url: PatternText('^https?://', 'begin with http:// or https://', {
    format: 'uri',
    description: 'URL of the relay, without a path. Its data API must be public.',
  }),
})

export const webhooksSettings = {
  webhooks: list(
    Webhook,
    16,
    'Webhooks for events of watched validators. Networks without a watch list have no events.',
  ),
  alertMaxAgeMinutes: integer(
    180,
    30,
    10_080,
    'Epochs that ended longer ago cause no events, for example while the server catches up.',
  ),
  expectedFeeRecipients: list(
    ExpectedFeeRecipients,
    1000,
    'Fee recipients that the blocks of watched validators must have. The first entry that matches a validator ' +
      'applies. Validators without an entry are not checked.',
  ),
  programmes: list(
    Programme,
    16,
    'Rules of staking programmes: a figure of a validator must be above the mean of the network minus some points.',
  ),
  relays: list(
    Relay,
    32,
    'MEV relays that your validators use. Blocks of watched validators that none of them delivered are reported. ' +
      'Empty: relays are not asked.',
  ),
}
