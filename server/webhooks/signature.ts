// Signs deliveries as the Standard Webhooks specification defines it: HMAC-SHA256 over id, time and body, so that a
// receiver can detect altered and repeated requests. Existing libraries can verify it.
import { createHmac } from 'node:crypto'

export function signatureHeaders(
  secret: string,
  { id, nowMs, body }: { readonly id: string; readonly nowMs: number; readonly body: string },
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(nowMs / 1000))
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` }
}
