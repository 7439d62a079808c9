// Asks MEV relays which payloads they have delivered, with the data API that relays have in common.
import { cleanUrls, FetchError, fetchJson } from '#sources/http-client.ts'

/** What a relay knows about a payload that it has delivered. */
export interface DeliveredPayload {
  /** The address that the builder pays. */
  readonly proposerFeeRecipient: string
}

const timeoutMs = 10_000
const bytesMax = 1024 * 1024

export interface Relays {
  /**
   * The payload, if one of the relays delivered it; null: none did. Throws a FetchError if none of those that answered
   * did, and one did not answer.
   */
  find(slot: number, payloadHash: string, signal?: AbortSignal): Promise<DeliveredPayload | null>
}

export function openRelays(urls: readonly string[]): Relays {
  const names = cleanUrls(urls)
  const ask = async (url: string, name: string, slot: number, hash: string, signal?: AbortSignal) => {
    const path = `/relay/v1/data/bidtraces/proposer_payload_delivered?slot=${slot}`
    const options = { timeoutMs, bytesMax, label: name, ...(signal && { signal }) }
    const list = await fetchJson(url.replace(/\/+$/, '') + path, options)
    if (!Array.isArray(list) || !list.every((payload) => isBidTrace(payload, slot)))
      throw new FetchError('text', `${name} did not return a list of payloads of slot ${slot}`)
    const payload = list.find(({ block_hash }) => block_hash.toLowerCase() === hash)
    return payload ? { proposerFeeRecipient: payload.proposer_fee_recipient.toLowerCase() } : null
  }
  const askAll = async (slot: number, payloadHash: string, signal?: AbortSignal) => {
    const answers = urls.map((url, at) => ask(url, names[at] ?? url, slot, payloadHash, signal))
    const delivered = answers.map(async (answer) => (await answer) ?? Promise.reject(new Error('not delivered')))
    // Does not wait for relays that hang if another one has the payload.
    const found = await Promise.any(delivered).catch(() => undefined)
    if (found) return found
    const failed = (await Promise.allSettled(answers)).find((answer) => answer.status === 'rejected')
    if (failed) throw failed.reason
    return null
  }
  return {
    // A payload that is missing from one answer raises an alert, so the relays are asked twice.
    find: async (slot, payloadHash, signal) =>
      (await askAll(slot, payloadHash, signal)) ?? (await askAll(slot, payloadHash, signal)),
  }
}

interface BidTrace {
  readonly block_hash: string
  readonly proposer_fee_recipient: string
}

function isBidTrace(value: unknown, slot: number): value is BidTrace {
  const trace = (value ?? {}) as Partial<Record<keyof BidTrace | 'slot', unknown>>
  return trace.slot === String(slot) && isHex(trace.block_hash, 32) && isHex(trace.proposer_fee_recipient, 20)
}

const isHex = (value: unknown, bytes: number): boolean =>
  typeof value === 'string' && value.length === 2 + 2 * bytes && /^0x[0-9a-f]+$/i.test(value)
