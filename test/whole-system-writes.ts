// The writes of a whole-system run: quotes, rates, labels and keys. What a server has acknowledged must still be there at
// the end.
import assert from 'node:assert/strict'
import { HistoryWriter } from '#explorer/labels/history.ts'
import { putLabels } from '#explorer/labels/labels.ts'
import type { Clock } from '#runtime/clock.ts'
import { systemRandom } from '#runtime/random.ts'
import { createKey, revokeKey, rotateKey } from '#storage/keys.ts'
import type { StateAndIngest } from '#storage/open.ts'
import { dayMs } from '#storage/usage.ts'
import { bearer, request, statusWith } from './whole-system-requests.ts'

/** The servers that get the writes. */
export interface WriteTarget {
  readonly clock: Clock
  /** The key of an operator. */
  readonly admin: string
  /** URLs of the running servers. */
  readonly urls: readonly string[]
  /** Whether writes may fail at present. */
  readonly mayRefuse: boolean
  /** Like a command that runs next to the servers. */
  writeStores(work: (stores: StateAndIngest) => Promise<void>): Promise<void>
  /** Fails unless every server notices what another process has written: at once, or on PostgreSQL within a second. */
  assertNoticed(what: string, isTrue: () => Promise<boolean>): Promise<void>
}

interface QuoteWrite {
  readonly body: string
  /** undefined: the response was lost. */
  reply: string | undefined
  readonly atMs: number
}

export interface Acknowledged {
  readonly quotes: Map<string, QuoteWrite>
  readonly keys: Map<string, { key: string; isRevoked: boolean }>
  readonly labels: Map<string, string>
  readonly rates: Map<number, string>
}

export class SystemWrites {
  acknowledged: Acknowledged = { quotes: new Map(), keys: new Map(), labels: new Map(), rates: new Map() }
  readonly #target: WriteTarget
  #count = 0

  constructor(target: WriteTarget) {
    this.#target = target
  }

  /** Whether it was acknowledged. The servers take turns. */
  async quote(
    name = `order-${++this.#count}`,
    url = this.#target.urls[this.#count % this.#target.urls.length],
  ): Promise<boolean> {
    const body = JSON.stringify({
      ...{ from: { currency: 'USDC', amount: `${100 + this.#count}` }, to: { currency: 'EURC' } },
      ...{ tenor: 'instant', type: this.#count % 4 < 2 ? 'tradable' : 'reference' },
      recipientAddress: `0x${'11'.repeat(20)}`,
    })
    const write = this.acknowledged.quotes.get(name) ?? { body, reply: undefined, atMs: this.#target.clock.now() }
    const headers = { ...bearer(this.#target.admin), 'content-type': 'application/json', 'idempotency-key': name }
    const sent = { method: 'POST', headers, body: write.body }
    const response = await request(`${url}/v1/exchange/fx/quotes`, sent).catch(() => undefined)
    if (response && response.status !== 200) {
      assert.equal(response.status, 503, response.text)
      return false
    }
    // Without a response it is unknown whether the quote was written.
    this.acknowledged.quotes.set(name, write)
    if (!response) return false
    if (write.reply !== undefined) assert.equal(response.text, write.reply, `the reply of ${name} is repeated`)
    write.reply = response.text
    return true
  }

  async pushRate(rate: string): Promise<void> {
    const headers = { ...bearer(this.#target.admin), 'content-type': 'application/json' }
    const body = JSON.stringify({ pair: 'EUR/USD', rate })
    const [url] = this.#target.urls
    const { status, text } = await request(`${url}/v1/exchange/fx/rates`, { method: 'POST', headers, body })
    if (status === 200) this.acknowledged.rates.set(Date.parse((JSON.parse(text) as { time: string }).time), rate)
    else assert.ok(this.#target.mayRefuse || status === 400, `${status} ${text}`)
  }

  async putLabel(slug: string, name: string): Promise<void> {
    await this.#target.writeStores(async ({ ingest }) => {
      const history = { by: 'operator', via: 'a test', atMs: this.#target.clock.now() } as const
      await ingest.write((tx) => putLabels(new HistoryWriter(tx, history), [{ chain: '1', slug, name }]))
      this.acknowledged.labels.set(slug, name)
    })
  }

  async changeKey(change: 'create key' | 'revoke key' | 'rotate key'): Promise<void> {
    const { keys } = this.acknowledged
    const [id, held] = [...keys].findLast(([, { isRevoked }]) => !isRevoked) ?? []
    await this.#target.writeStores(async ({ state }) => {
      if (change === 'create key' || !id || !held) {
        const made = await createKey(state, { name: 'caller', plan: 'enterprise' }, this.#target.clock, systemRandom)
        keys.set(made.id, { key: made.key, isRevoked: false })
      } else if (change === 'revoke key') {
        await revokeKey(state, id, this.#target.clock)
        held.isRevoked = true
      } else {
        const old = held.key
        const rotated = await rotateKey(state, { id }, this.#target.clock, systemRandom)
        assert.ok(rotated)
        held.key = rotated.key
        for (const url of this.#target.urls) await this.#assertRefused(url, old, `the old secret of the key ${id}`)
      }
    })
    await this.#checkKeys()
  }

  async #checkKeys(): Promise<void> {
    for (const url of this.#target.urls)
      for (const [id, { key, isRevoked }] of this.acknowledged.keys) {
        if (isRevoked) await this.#assertRefused(url, key, `the revoked key ${id}`)
        else assert.notEqual(await statusWith(url, key), 401, `the key ${id} is refused`)
      }
  }

  #assertRefused(url: string, key: string, name: string): Promise<void> {
    const isRefused = async () => [401, 429].includes(await statusWith(url, key))
    return this.#target.assertNoticed(`${name} is refused`, isRefused)
  }

  /** What was acknowledged is there, and every server returns it. */
  async check(): Promise<void> {
    await this.#checkKeys()
    const yesterdayMs = this.#target.clock.now() - dayMs
    for (const url of this.#target.urls)
      for (const [name, { atMs, reply }] of this.acknowledged.quotes) {
        // Idempotency keys are kept for a day, as of the server's clock.
        if (atMs > yesterdayMs + 3_600_000) assert.ok(await this.quote(name, url), `${name} is answered again`)
        if (reply === undefined) continue
        const { id } = JSON.parse(reply) as { id: string }
        const { status, text } = await request(`${url}/v1/exchange/fx/quotes/${id}`, {
          headers: bearer(this.#target.admin),
        })
        assert.equal(status, 200, `quote ${id} of ${name}: ${text}`)
      }
    await this.#target.writeStores(async ({ state, ingest }) => {
      const labels = await ingest.all<{ slug: string; name: string }>('select slug, name from labels')
      assert.deepEqual(new Map(labels.map(({ slug, name }) => [slug, name])), this.acknowledged.labels, 'labels')
      for (const [atMs, rate] of this.acknowledged.rates) {
        const query = `select rate from fx_rates where source = 'desk' and at_ms = ?`
        const row = await state.get<{ rate: string }>(query, atMs)
        assert.equal(Number(row?.rate), Number(rate), `the rate pushed at ${atMs}`)
      }
    })
  }
}
