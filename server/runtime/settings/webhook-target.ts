// Where events are sent: the settings that all webhooks share.
import { PatternText, type Static, Type } from '#api/contract/kit.ts'
import { integer } from './server.ts'

export const webhookTarget = {
  id: PatternText('^[a-z0-9-]{1,32}$', 'be 1 to 32 small letters, digits and hyphens', {
    description: 'Name in logs, metrics and the list of deliveries.',
  }),
  url: PatternText('^https?://', 'begin with http:// or https://', {
    format: 'uri',
    description: 'URL that receives events as POST requests. Redirects are refused.',
  }),
  secret: PatternText('^whsec_[A-Za-z0-9+/]{32,86}={0,2}$', 'be whsec_ and 24 to 64 bytes as base64', {
    description: 'Key of the signature: `whsec_` and 24 to 64 random bytes as base64.',
  }),
  timeoutMs: integer(10_000, 100, 60_000, 'Timeout of a delivery.'),
}
const target = Type.Object(webhookTarget)
export type WebhookTarget = Static<typeof target>
