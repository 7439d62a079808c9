// Quotes whose connection breaks between COMMIT and its answer, with and without a result, behind PgBouncer.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Fault } from '#core/fault.ts'
import { systemClock } from '#runtime/clock.ts'
import { systemRandom } from '#runtime/random.ts'
import { stateMigrations } from '#storage/migrations.ts'
import type { State } from '#storage/state.ts'
import { BreakingProxy } from '#test/breaking-proxy.ts'
import { openPostgres } from '#test/open-database.ts'
import { noPgBouncer, startPgBouncer } from '#test/pgbouncer.ts'
import { noPostgres, type PostgresServer, startPostgres } from '#test/postgres.ts'
import { createFxCaches } from '../context.ts'
import { getReceiptSigner } from '../receipts/receipt-key.ts'
import { findReplay, storeQuote } from './quotes.ts'

const cuts = 200
const nowMs = Date.UTC(2026, 10, 15, 12)
const isCommit = (text: string) => /;\ncommit;/.test(text)

/** What a request for a quote does with an idempotency key. The reply names the quote. */
async function requestQuote(state: State, idempotencyKey: string): Promise<string> {
  const replay = { keyId: 'caller', idempotencyKey, bodyHash: 'same', nowMs }
  const build = async () => {
    const { id: receiptKey } = await getReceiptSigner({
      ...{ state, clock: systemClock, random: systemRandom, fx: createFxCaches() },
    })
    const id = systemRandom.uuid()
    return {
      ...{ id, keyId: 'caller', createdMs: nowMs, asOfMs: nowMs, nonce: null, pricedFrom: '{}' },
      ...{ receiptKey, receiptSignature: new Uint8Array(64), reply: new TextEncoder().encode(id), overrides: 0 },
    }
  }
  const { reply } = (await findReplay(state, replay)) ?? (await storeQuote(state, build, replay))
  return new TextDecoder().decode(reply)
}

const countQuotes = async (state: State) => (await state.get<{ n: number }>('select count(*) as n from fx_quotes'))?.n

describe('quotes through a pooler', { skip: noPostgres || noPgBouncer }, () => {
  let server: PostgresServer
  before(async () => {
    server = await startPostgres()
  })
  after(() => server?.[Symbol.asyncDispose]())

  /** A server behind PgBouncer, with a proxy on both sides of it, and another server without it. */
  async function openServers(mode: 'session' | 'transaction', schemaSuffix: string, options = {}) {
    const resources = new AsyncDisposableStack()
    const inner = resources.use(new BreakingProxy(server.port))
    const pooler = resources.use(await startPgBouncer({ ...server, port: await inner.listen() }, mode, 6))
    const outer = resources.use(new BreakingProxy(pooler.port))
    const url = (port: number) => pooler.url.replace(/:\d+\//, `:${port}/`)
    const open = async (port: number, more: object) =>
      resources.adopt(
        await openPostgres(url(port), stateMigrations, { connections: 2, schemaSuffix, ...more }),
        (state) => state.close(),
      )
    const state = await open(await outer.listen(), options)
    const other = await open(server.port, {})
    return { inner, outer, state, other, [Symbol.asyncDispose]: () => resources.disposeAsync() }
  }

  for (const mode of ['session', 'transaction'] as const) {
    test(`one quote for each key although each commit loses its answer, in ${mode} mode`, async () => {
      await using servers = await openServers(mode, `lost_${mode}`)
      const { inner, outer, state, other } = servers
      await requestQuote(state, 'first')
      let broken = 0
      for (let at = 0; at < cuts; at++) {
        let isArmed = true
        const [breaking, silent] = at % 2 === 0 ? [inner, outer] : [outer, inner]
        silent.decide = () => undefined
        breaking.decide = (text) => {
          if (!isArmed || !isCommit(text)) return undefined
          isArmed = false
          broken += 1
          return 'break'
        }
        // Only the fault that the result is unknown is allowed.
        const first = await requestQuote(state, `order ${at}`).catch((error: unknown) => {
          assert.ok(error instanceof Fault && error.code === 'store.unavailable', String(error))
          return undefined
        })
        const again = await Promise.all([requestQuote(state, `order ${at}`), requestQuote(other, `order ${at}`)])
        assert.equal(new Set([first ?? again[0], ...again]).size, 1)
      }
      assert.equal(broken, cuts)
      assert.equal(await countQuotes(other), cuts + 1)
    })

    // Quotes are stored by their id, so the same one twice would leave no trace.
    test(`a write that changes something each time is done once although its commit loses its answer, in ${mode} mode`, async () => {
      await using servers = await openServers(mode, `once_${mode}`)
      const { outer, state, other } = servers
      await requestQuote(state, 'first')
      for (let count = 1; count <= 10; count++) {
        let isArmed = true
        outer.decide = (text) => {
          if (!isArmed || !isCommit(text)) return undefined
          isArmed = false
          return 'break'
        }
        await state.write((tx) => tx.run('update fx_quotes set as_of_ms = as_of_ms + 1'))
        assert.equal(isArmed, false)
        const row = await other.get<{ asOfMs: number }>('select as_of_ms as "asOfMs" from fx_quotes')
        assert.equal(row?.asOfMs, nowMs + count)
      }
    })

    test(`after a commit without a reply, the next request with the key finds the quote, in ${mode} mode`, async () => {
      await using servers = await openServers(mode, `held_${mode}`, { statementMs: 500 })
      const { outer, state, other } = servers
      await requestQuote(state, 'first')
      outer.decide = (text) => (isCommit(text) ? 'hold' : undefined)
      await assert.rejects(requestQuote(state, 'order'), { code: 'store.unavailable', status: 503 })
      outer.decide = () => undefined
      assert.equal(await requestQuote(state, 'order'), await requestQuote(other, 'order'))
      assert.equal(await countQuotes(other), 2)
    })
  }
})
