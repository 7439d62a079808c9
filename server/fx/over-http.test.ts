// The FX endpoints over HTTP with the typed client: permissions of keys, pushed rates, quotes, receipts, signature checks.
// Also proves that an acknowledged quote survives kill −9 of the server.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { privateKeyToAccount } from 'viem/accounts'
import { type Client, createClient } from '#api/client/client.ts'
import { silentLog } from '#runtime/log.ts'
import { type RunningServer, startServer } from '#server/app.ts'
import { createKey, type NewKey, rotateKey } from '#storage/keys.ts'
import { openState } from '#storage/open.ts'
import { settingsWith } from '#test/context.ts'
import { onlyInLongRun } from '#test/long.ts'
import { checkReceipt } from './extensions/receipts/check-receipt.ts'

const file = fileURLToPath(import.meta.url)
const [, , role, folder = ''] = process.argv
const recipientAddress = `0x${'11'.repeat(20)}`
const quoteRequest = {
  from: { currency: 'USDC', amount: '1000' },
  to: { currency: 'EURC' },
  tenor: 'instant',
  recipientAddress,
} as const

async function open(dir: string, fx: object = {}) {
  const sources = [{ id: 'desk', kind: 'push' }]
  const spender = `0x${'33'.repeat(20)}`
  const settings = settingsWith({ server: { port: 0, stopDelayMs: 0 }, fx: { spender, sources, ...fx } })
  const server = await startServer({ settings, dataDir: dir, log: silentLog })
  return { server, clientFor: (newKey: Partial<NewKey>) => clientOf(server, newKey) }
}

async function clientOf({ url, context }: RunningServer, newKey: Partial<NewKey>): Promise<Client> {
  const { key } = await createKey(
    context.state,
    { name: 'test', plan: 'enterprise', ...newKey },
    context.clock,
    context.random,
  )
  return createClient({ baseUrl: url, key, retries: 0 })
}

if (role === 'child') await serveUntilKilled()
else tests()

function tests() {
  describe('over HTTP', () => {
    test('only an admin key can push a rate; quotes are created, returned, explained and checked', async () => {
      const dir = await mkdtemp(join(tmpdir(), 'tetrad-fx-'))
      const { server, clientFor } = await open(dir)
      try {
        const keys = await server.context.state.all('select id from fx_receipt_keys')
        assert.equal(keys.length, 1, 'the key that signs receipts is there before the first quote')
        const [plain, admin, other] = await Promise.all([clientFor({}), clientFor({ admin: true }), clientFor({})])
        await assert.rejects(plain.fx.createQuote(quoteRequest), { status: 503, code: 3010 })
        await assert.rejects(plain.fx.setRate({ pair: 'EUR/USD', rate: '1.25' }), { status: 403, code: 3 })
        await assert.rejects(
          admin.fx.setRate({ pair: 'EUR/USD', rate: '-1' }),
          /body\.rate -1 is not a decimal above zero/,
        )
        await assert.rejects(admin.fx.setRate({ pair: 'EUR/USD', rate: '1', source: 'x' }), /must be one of desk/)
        const set = await admin.fx.setRate({ pair: 'EUR/USD', rate: '1.25' })
        assert.deepEqual([set.source, set.pair, set.rate], ['desk', 'EUR/USD', '1.25'])
        await assert.rejects(admin.fx.setRate({ pair: 'EUR/USD', rate: '1.2', time: set.time }), /must be later/)
        await assert.rejects(
          admin.fx.setRate({ pair: 'EUR/USD', rate: '1.2', time: '2020-01-01T00:00:00Z' }),
          /must be later than the last rate/,
        )
        const tomorrow = new Date(Date.now() + 86_400_000).toISOString()
        const future = admin.fx.setRate({ pair: 'EUR/USD', rate: '1.2', time: tomorrow })
        await assert.rejects(future, { code: 2, message: /body\.time must not be ahead of the server's clock/ })
        const same = admin.fx.setRate({ pair: 'EUR/EUR', rate: '1.2' })
        await assert.rejects(same, { code: 2, message: /body\.pair must be two different currencies/ })
        // Without a zone, a server in New York would store a time five hours later.
        const unzoned = new Date(Date.now() - 60_000).toISOString().slice(0, -1)
        for (const time of [unzoned, '2026-11-15T25:00:00Z', '2026-11-15T24:00:00Z', '2026-02-30T10:00:00Z']) {
          const refusal = { status: 400, code: 2, message: /time must (include a time zone|be a valid date-time)/ }
          await assert.rejects(admin.fx.setRate({ pair: 'GBP/USD', rate: '1.3', time }), refusal)
        }
        const zoned = await admin.fx.setRate({ pair: 'GBP/USD', rate: '1.3', time: '2020-01-01T10:00:00+02:00' })
        assert.equal(zoned.time, '2020-01-01T08:00:00.000Z')

        const quote = await plain.fx.createQuote(quoteRequest)
        assert.equal(quote.rate, 0.7996)
        assert.deepEqual(await plain.fx.quote({ id: quote.id }), quote)
        await assert.rejects(other.fx.quote({ id: quote.id }), { status: 404 })
        await assert.rejects(plain.fx.quote({ id: 'x' }), { status: 400, code: 2 })

        const anonymous = createClient({ baseUrl: server.url, retries: 0 })
        const { publicKey } = await anonymous.fx.receiptKey()
        const receipt = await plain.fx.receipt({ id: quote.id })
        const checks = checkReceipt(receipt, { publicKeys: [publicKey] })
        assert.ok(checks.length > 5 && checks.every(({ ok }) => ok), JSON.stringify(checks))
        await assert.rejects(anonymous.fx.receipt({ id: quote.id }), { status: 401 })

        const taker = privateKeyToAccount(`0x${'42'.repeat(32)}`)
        const signature = await plain.fx.signQuote(quote, taker)
        const good = await plain.fx.checkSignature({ id: quote.id, signature, signer: taker.address })
        assert.deepEqual([good.verdict, good.signer, good.chain], ['good', taker.address, []])
        const { id } = await other.fx.createQuote(quoteRequest)
        await assert.rejects(other.fx.checkSignature({ id, signature: '0x123' }), { status: 400, code: 2 })
        const types = { A: new Array(300).fill({ name: 'a', type: 'bool' }) }
        await assert.rejects(
          other.fx.checkSignature({ id, signature, signer: taker.address, typedData: { ...quote.typedData, types } }),
          { status: 400, code: 2 },
        )
        const reference = await plain.fx.createQuote({ ...quoteRequest, type: 'reference' })
        await assert.rejects(plain.fx.checkSignature({ id: reference.id, signature }), /nothing to sign/)
        await assert.rejects(plain.fx.signQuote(reference, taker), /cannot be signed/)
      } finally {
        await server.close()
        await rm(dir, { recursive: true, force: true })
      }
    })

    test('a rotated key keeps its quotes, receipts and replays', async () => {
      const dir = await mkdtemp(join(tmpdir(), 'tetrad-fx-'))
      const { server } = await open(dir)
      const { context, url } = server
      try {
        const newKey = { name: 'test', plan: 'enterprise', admin: true } as const
        const { id, key } = await createKey(context.state, newKey, context.clock, context.random)
        const before = createClient({ baseUrl: url, key, retries: 0 })
        await before.fx.setRate({ pair: 'EUR/USD', rate: '1.25' })
        const keyed = { ...quoteRequest, type: 'reference', idempotencyKey: 'order-7' } as const
        const quote = await before.fx.createQuote(keyed)
        const rotated = await rotateKey(context.state, { id }, context.clock, context.random)
        await assert.rejects(before.fx.quote({ id: quote.id }), { status: 401 })
        const after = createClient({ baseUrl: url, key: rotated?.key ?? '', retries: 0 })
        assert.deepEqual(await after.fx.quote({ id: quote.id }), quote)
        assert.deepEqual(await after.fx.createQuote(keyed), quote)
        assert.ok(await after.fx.receipt({ id: quote.id }))
      } finally {
        await server.close()
        await rm(dir, { recursive: true, force: true })
      }
    })

    test('amounts of 18-decimal tokens stay exact through the server, the client, the signature and its check', async () => {
      const dir = await mkdtemp(join(tmpdir(), 'tetrad-fx-'))
      const contract = `0x${'12'.repeat(20)}`
      const tokens = [
        { code: 'USDX', tracks: 'USD', decimals: 18, contract },
        { code: 'EURX', tracks: 'EUR', decimals: 18, contract },
      ]
      const { server, clientFor } = await open(dir, { tokens, rpcUrl: 'http://127.0.0.1:1/' })
      try {
        const client = await clientFor({ admin: true })
        await client.fx.setRate({ pair: 'EUR/USD', rate: '1.0842' })
        const quote = await client.fx.createQuote({
          ...quoteRequest,
          from: { currency: 'USDX', amount: '1234567.654321' },
          to: { currency: 'EURX' },
        })
        assert.equal(quote.typedData?.message.permitted.amount, 1_234_567_654_321_000_000_000_000n)
        const taker = privateKeyToAccount(`0x${'42'.repeat(32)}`)
        const signature = await client.fx.signQuote(quote, taker)
        const diagnosis = await client.fx.checkSignature({
          id: quote.id,
          signature,
          signer: taker.address,
          typedData: quote.typedData ?? {},
        })
        assert.deepEqual([diagnosis.verdict, diagnosis.findings], ['good', []])
        // The configured node is not reachable: this is a finding, not a failure.
        assert.deepEqual(
          diagnosis.chain.map(({ name, ok }) => [name, ok]),
          [['node', false]],
        )
      } finally {
        await server.close()
        await rm(dir, { recursive: true, force: true })
      }
    })

    // endpoints/survival.test.ts kills a process without HTTP.
    test('every acknowledged quote is stored after kill −9 of the server', { skip: onlyInLongRun }, async () => {
      const dir = await mkdtemp(join(tmpdir(), 'tetrad-fx-'))
      const child = spawn(process.execPath, [file, 'child', dir], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      try {
        const { url, key } = await firstLine<{ url: string; key: string }>(child)
        const client = createClient({ baseUrl: url, key, retries: 0 })
        const answered: string[] = []
        const exited = new Promise((resolve) => child.once('exit', (_, signal) => resolve(signal)))
        const createOne = async (): Promise<void> => {
          for (;;) {
            const { id } = await client.fx.createQuote(quoteRequest)
            answered.push(id)
            if (answered.length === 150) child.kill('SIGKILL')
          }
        }
        // Eight at a time, so that commits are in progress when the server is killed.
        await Promise.allSettled(Array.from({ length: 8 }, createOne))
        assert.equal(await exited, 'SIGKILL')
        assert.ok(answered.length >= 150)
        const state = await openState(dir)
        const stored = new Set((await state.all<{ id: string }>('select id from fx_quotes')).map(({ id }) => id))
        await state.close()
        assert.deepEqual(
          answered.filter((id) => !stored.has(id)),
          [],
        )
      } finally {
        child.kill('SIGKILL')
        await rm(dir, { recursive: true, force: true })
      }
    })
  })
}

async function serveUntilKilled(): Promise<void> {
  const { server } = await open(folder)
  const { context, url } = server
  const { key } = await createKey(
    context.state,
    { name: 'test', plan: 'enterprise', admin: true },
    context.clock,
    context.random,
  )
  await createClient({ baseUrl: url, key }).fx.setRate({ pair: 'EUR/USD', rate: '1.25' })
  process.stdout.write(`${JSON.stringify({ url, key })}\n`)
}

async function firstLine<T>(child: ChildProcess): Promise<T> {
  assert.ok(child.stdout)
  for await (const line of createInterface(child.stdout)) return JSON.parse(line) as T
  throw new Error('the server exited without output')
}
