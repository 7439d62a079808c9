// A server is killed while it accepts a quote: before the commit, or between the commit and the response. The same request
// then gets one trade. This file is also the process that is killed.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { privateKeyToAccount } from 'viem/accounts'
import { signQuote } from '#api/client/client.ts'
import { parseJson } from '#api/contract/json.ts'
import type { Quote, TypedData } from '#api/contract/wire/fx.ts'
import type { Trade } from '#api/contract/wire/fx-trades.ts'
import { Fault } from '#core/fault.ts'
import { systemClock } from '#runtime/clock.ts'
import { silentLog } from '#runtime/log.ts'
import { systemRandom } from '#runtime/random.ts'
import { openState } from '#storage/open.ts'
import type { State, StateWriter } from '#storage/state.ts'
import { settingsWith, testRequestInfo } from '#test/context.ts'
import { noPostgres, startPostgres } from '#test/postgres.ts'
import { provenTimeOf } from '#test/proven-time.ts'
import { createFxCaches, type FxContext } from '../../context.ts'
import { createQuote } from '../../endpoints/create-quote.ts'
import { storeRates } from '../../rates/rate-store.ts'
import { createTrade } from './create-trade.ts'

const file = fileURLToPath(import.meta.url)
const [, , role, location = '', moment = '', request = ''] = process.argv
const moments = ['before the commit', 'after the commit'] as const

const account = privateKeyToAccount(`0x${'42'.repeat(32)}`)
const other = privateKeyToAccount(`0x${'43'.repeat(32)}`)
const settings = settingsWith({
  fx: {
    spender: `0x${'33'.repeat(20)}`,
    sources: [{ id: 'a', kind: 'push', staleMs: 360_000_000 }],
    webhooks: [{ id: 'desk', url: 'http://127.0.0.1:1/', secret: `whsec_${'A'.repeat(32)}` }],
    // The process that is killed must start meanwhile.
    expirySeconds: { tradable: 600 },
  },
})

interface Acceptance {
  readonly quoteId: string
  readonly address: string
  readonly signature: string
}

const openAt = (place: string): Promise<State> =>
  place.startsWith('postgres') ? openState('', { state: place }) : openState(place)

function contextOf(state: State): FxContext {
  const clock = systemClock
  const parts = { settings, random: systemRandom, log: silentLog, fx: createFxCaches() }
  return { ...parts, state, clock, provenTime: provenTimeOf(clock) }
}

async function accept(state: State, input: Acceptance): Promise<string> {
  const outcome = await createTrade.handle(input, contextOf(state), testRequestInfo())
  assert.ok(outcome.is === 'bytes')
  return new TextDecoder().decode(outcome.bytes)
}

if (role === 'child') {
  const state = await openAt(location)
  const die = () => process.kill(process.pid, 'SIGKILL')
  const write: State['write'] = async (work, options) => {
    const result = await state.write(async (tx: StateWriter) => {
      const done = await work(tx)
      if (moment === 'before the commit') die()
      return done
    }, options)
    die()
    return result
  }
  await accept({ ...state, write }, JSON.parse(request) as Acceptance)
} else {
  for (const when of moments) {
    test(`SQLite: killed ${when}`, async () => {
      const folder = await mkdtemp(join(tmpdir(), 'tetrad-test-'))
      try {
        await acceptAfterKill(folder, when)
      } finally {
        await rm(folder, { recursive: true, force: true })
      }
    })
    test(`PostgreSQL: killed ${when}`, { skip: noPostgres }, async () => {
      await using server = await startPostgres()
      await acceptAfterKill(await server.schema(), when)
    })
  }
}

async function acceptAfterKill(place: string, when: (typeof moments)[number]): Promise<void> {
  const input = await prepare(place)
  const child = spawn(process.execPath, [file, 'child', place, when, JSON.stringify(input)], { stdio: 'inherit' })
  const [, signal] = await once(child, 'exit')
  assert.equal(signal, 'SIGKILL')
  const state = await openAt(place)
  try {
    const stored = await state.all<{ reply: Uint8Array }>('select reply from fx_trades')
    assert.equal(stored.length, when === 'after the commit' ? 1 : 0)
    const [first] = stored.map(({ reply }) => new TextDecoder().decode(reply))
    const reply = await accept(state, input)
    if (first !== undefined) assert.equal(reply, first)
    assert.equal((parseJson(reply) as Trade).quoteId, input.quoteId)
    assert.equal(await accept(state, input), reply)
    const conflict = { ...input, address: other.address }
    await assert.rejects(
      accept(state, conflict),
      (error) => error instanceof Fault && error.code === 'fx.trade_conflict',
    )
    assert.deepEqual(await state.all('select id from fx_trades'), [{ id: input.quoteId }])
    assert.deepEqual(await state.all('select trade, event from fx_deliveries'), [
      { trade: input.quoteId, event: 'trade_accepted' },
    ])
  } finally {
    await state.close()
  }
}

/** A quote, with its signature. */
async function prepare(place: string): Promise<Acceptance> {
  const state = await openAt(place)
  try {
    const rate = { source: 'a', base: 'EUR', quote: 'USD', rate: '1.25', atMs: systemClock.now() }
    await storeRates(state, 'a', [rate], rate.atMs)
    const sides = { from: { currency: 'USDC', amount: '1000' }, to: { currency: 'EURC' } }
    const input = { ...sides, tenor: 'instant', type: 'tradable', recipientAddress: `0x${'11'.repeat(20)}` } as const
    const outcome = await createQuote.handle(input, contextOf(state), testRequestInfo())
    assert.ok(outcome.is === 'bytes')
    const quote = parseJson(new TextDecoder().decode(outcome.bytes)) as Quote & { readonly typedData: TypedData }
    return { quoteId: quote.id, address: account.address, signature: await signQuote(quote, account) }
  } finally {
    await state.close()
  }
}
