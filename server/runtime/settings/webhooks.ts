// Settings of the webhooks that report events of watched validators.
import { oneOf, PatternText, type Static, Type, withDefault } from '#api/kit.ts'

/** In the order of the documentation (docs/alerts.md). */
export const webhookEvents = [
  'attestations_missed',
  'block_missed',
  'block_empty',
  'slashed',
  'balance_decreased',
  'exit',
  'recovered',
] as const
export type WebhookEvent = (typeof webhookEvents)[number]

export const Webhook = Type.Object(
  {
    id: Type.String({ pattern: '^[a-z0-9-]{1,32}$', description: 'Name in logs, metrics and the list of deliveries.' }),
    url: PatternText('^https?://', 'begin with http:// or https://', {
      format: 'uri',
      description: 'URL that receives events as POST requests. Redirects are refused.',
    }),
    secret: PatternText('^whsec_[A-Za-z0-9+/]{32,86}={0,2}$', 'be whsec_ and 24 to 64 bytes as base64', {
      description: 'Key of the signature: `whsec_` and 24 to 64 random bytes as base64.',
    }),
    events: withDefault(
      Type.Array(oneOf(webhookEvents), { minItems: 1, uniqueItems: true, description: 'Events to send.' }),
      [...webhookEvents],
    ),
    minMissedInARow: withDefault(
      Type.Integer({
        minimum: 1,
        maximum: 32,
        description: 'Missed attestations in a row after which `attestations_missed` is sent.',
      }),
      2,
    ),
    minLossGwei: withDefault(
      Type.Integer({
        minimum: 1,
        description: 'Loss of a validator in one chain hour from which `balance_decreased` is sent.',
      }),
      1,
    ),
    timeoutMs: withDefault(
      Type.Integer({ minimum: 100, maximum: 60_000, description: 'Timeout of a delivery.' }),
      10_000,
    ),
  },
  { additionalProperties: false },
)
export type WebhookSettings = Static<typeof Webhook>

export const webhooksSettings = {
  webhooks: withDefault(
    Type.Array(Webhook, {
      maxItems: 16,
      description: 'Webhooks for events of watched validators. Networks without a watch list have no events.',
    }),
    [],
  ),
  alertMaxAgeMinutes: withDefault(
    Type.Integer({
      minimum: 30,
      maximum: 10_080,
      description: 'Epochs that ended longer ago cause no events, for example while the server catches up.',
    }),
    180,
  ),
}
