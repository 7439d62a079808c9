import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { extensions } from '#api/contract/extensions.ts'
import type { SignedReceipt } from '#api/contract/wire/fx-extensions.ts'
import { checker } from '#core/schema-check.ts'
import { type AppContext, createContext } from '#server/context.ts'
import { openState } from '#storage/open.ts'
import { openContext, type TestContext, testNowMs, testRequestInfo } from '#test/context.ts'
import { receiptOfVersion1 } from '#test/receipt-of-version-1.ts'
import { createQuote } from '../../endpoints/create-quote.ts'
import { storeRates } from '../../rates/rate-store.ts'
import { canonicalJson } from '../../receipts/canonical-json.ts'
import { privateKeyOf, publicBytesOf, signEd25519 } from '../../receipts/ed25519.ts'
import { getReceiptSigner, rotateReceiptKey } from '../../receipts/receipt-key.ts'
import { quote } from '../lists/quote.ts'
import { checkReceipt } from './check-receipt.ts'
import { receipt } from './receipt.ts'
import { receiptKey } from './receipt-key.ts'

const source = (id: string) => ({ id, kind: 'http-json', url: 'https://rates.example/' })
const token = (code: string, tracks: string, decimals: number) => ({
  code,
  tracks,
  decimals,
  contract: `0x${'12'.repeat(20)}`,
})
const fx = {
  spender: '0x3333333333333333333333333333333333333333',
  sources: ['a', 'b', 'c'].map(source),
  tokens: [token('USDC', 'USD', 6), token('EURC', 'EUR', 6), token('JPYX', 'JPY', 18), token('CHFX', 'CHF', 2)],
  terms: { daily: { collateralBps: '12.5' } },
  limits: { min: '0.01' },
}
const sourceRates: readonly [source: string, pair: string, rate: string][] = [
  ['a', 'EUR/USD', '1.0841'],
  ['b', 'EUR/USD', '1.0844'],
  ['c', 'EUR/USD', '1.3100'],
  ['a', 'USD/JPY', '151.37'],
  ['b', 'USD/CHF', '0.8821'],
]

async function openPriced(): Promise<TestContext> {
  const context = await openContext({ fx })
  await storeRatesOfSources(context)
  return context
}

async function storeRatesOfSources({ state, clock }: AppContext): Promise<void> {
  const nowMs = clock.now()
  for (const [id, pair, rate] of sourceRates) {
    const [base = '', to = ''] = pair.split('/')
    await storeRates(state, id, [{ source: id, base, quote: to, rate, atMs: nowMs - 1000 }], nowMs)
  }
}

type QuoteChanges = Partial<Parameters<typeof createQuote.handle>[0]>
async function requestQuote(context: AppContext, changes: QuoteChanges = {}) {
  const outcome = await createQuote.handle(
    {
      from: { currency: 'USDC', amount: '1000' },
      to: { currency: 'EURC' },
      tenor: 'instant',
      type: 'tradable',
      recipientAddress: `0x${'11'.repeat(20)}`,
      ...changes,
    },
    context,
    testRequestInfo(),
  )
  assert.ok(outcome.is === 'bytes')
  return { id: String(JSON.parse(new TextDecoder().decode(outcome.bytes)).id), bytes: outcome.bytes }
}
async function receiptFor(context: AppContext, id: string): Promise<SignedReceipt> {
  const outcome = await receipt.handle({ id }, context, testRequestInfo())
  assert.ok(outcome.is === 'body')
  return JSON.parse(JSON.stringify(outcome.body)) as SignedReceipt
}
const countQuotes = async ({ state }: AppContext) =>
  (await state.get<{ n: number }>('select count(*) as n from fx_quotes'))?.n
const failuresOf = (document: unknown): readonly string[] =>
  checkReceipt(document)
    .filter(({ ok }) => !ok)
    .map(({ name }) => name)
const isGood = (document: unknown, options = {}) => checkReceipt(document, options).every(({ ok }) => ok)

test('a receipt of version 1 still verifies, and not as another version', () => {
  assert.ok(isGood(receiptOfVersion1))
  const other = { ...receiptOfVersion1, receipt: { ...receiptOfVersion1.receipt, version: '2' } }
  assert.deepEqual(failuresOf(other), ['signature', 'rules'])
})

test('a quote from bid and ask is recomputed from the side of its direction, direct and crossed', async () => {
  await using context = await openPriced()
  const atMs = testNowMs - 500
  for (const [pair, rate, bid, ask] of [
    ['EUR/USD', '1.0842', '1.0840', '1.0844'],
    ['USD/JPY', '151.37', '151.36', '151.38'],
  ] as const) {
    const [base = '', to = ''] = pair.split('/')
    await storeRates(context.state, 'a', [{ source: 'a', base, quote: to, rate, bid, ask, atMs }], testNowMs)
  }
  const receiptOf = async (from: string, to: string) => {
    const made = await requestQuote(context, { from: { currency: from, amount: '1000' }, to: { currency: to } })
    const document = await receiptFor(context, made.id)
    assert.ok(isGood(document, { reply: made.bytes }), `${from}/${to}`)
    return document
  }
  // (1.0840 + 1.0844) ÷ 2 for a payer of EUR: the bid of a, and the one price of b
  const paysEuro = await receiptOf('EURC', 'USDC')
  assert.deepEqual(
    paysEuro.receipt.rates.map(({ rate, bid, ask }) => [rate, bid, ask]),
    [
      ['1.0842', '1.0840', '1.0844'],
      ['1.0844', undefined, undefined],
    ],
  )
  const { mid } = paysEuro.receipt
  assert.equal((BigInt(mid.numerator) * 10_000n) / BigInt(mid.denominator), 10_842n)
  const paysDollar = (await receiptOf('USDC', 'EURC')).receipt.mid
  assert.equal((BigInt(paysDollar.denominator) * 10_000n) / BigInt(paysDollar.numerator), 10_844n)
  await receiptOf('EURC', 'JPYX')
  await receiptOf('JPYX', 'EURC')
  const [first, ...others] = paysEuro.receipt.rates
  const forged = { ...paysEuro, receipt: { ...paysEuro.receipt, rates: [{ ...first, bid: '1.0841' }, ...others] } }
  assert.deepEqual(failuresOf(forged), ['signature', 'mid'])
})

describe('200', () => {
  test('a stored quote is returned byte for byte, expired or not', async () => {
    await using context = await openPriced()
    const made = await requestQuote(context)
    for (const waitMs of [0, 31_000, 86_400_000]) {
      context.clock.advance(waitMs)
      const outcome = await quote.handle({ id: made.id }, context, testRequestInfo())
      assert.ok(outcome.is === 'bytes')
      assert.deepEqual(outcome.bytes, made.bytes)
      assert.equal(outcome.confidence?.asOf, new Date(testNowMs - 1000).toISOString())
    }
  })

  test('the receipt has sources, times, mid, terms, rounding and excluded rates', async () => {
    await using context = await openPriced()
    const made = await requestQuote(context)
    const { receipt, signature } = await receiptFor(context, made.id)
    assert.deepEqual(checker(extensions['fx.receipt'].reply)({ receipt, signature }), [])
    const at = new Date(testNowMs - 1000).toISOString()
    assert.deepEqual(receipt.rates, [
      { source: 'a', base: 'EUR', quote: 'USD', rate: '1.0841', at },
      { source: 'b', base: 'EUR', quote: 'USD', rate: '1.0844', at },
    ])
    assert.deepEqual(receipt.excluded, [{ source: 'c', base: 'EUR', quote: 'USD', rate: '1.3100', at }])
    // (1.0841 + 1.0844) ÷ 2 = 1.08425 dollars a euro
    assert.equal((BigInt(receipt.mid.denominator) * 100_000n) / BigInt(receipt.mid.numerator), 108_425n)
    const terms = { spreadPpm: 500, feePpm: 200, collateralPpm: 0, outlierPpm: 20_000 }
    assert.deepEqual([receipt.terms, receipt.rules], [{ basicSpreadPpm: 500, ...terms }, []])
    assert.equal(receipt.givenSide, 'from')
    assert.deepEqual(receipt.quote.from, { currency: 'USDC', tracks: 'USD', decimals: 6, amount: '1000' })
    assert.equal(receipt.via, null)
  })

  test('the receipt does not change when settings, rates or time change', async () => {
    await using context = await openPriced()
    const made = await requestQuote(context)
    const first = await receiptFor(context, made.id)
    context.clock.advance(100_000_000)
    await storeRates(
      context.state,
      'a',
      [{ source: 'a', base: 'EUR', quote: 'USD', rate: '2', atMs: context.clock.now() }],
      context.clock.now(),
    )
    const changed = {
      ...context,
      settings: { ...context.settings, fx: { ...context.settings.fx, tokens: [], sources: [] } },
    }
    assert.deepEqual(await receiptFor(changed, made.id), first)
  })

  test('the receipt is signed with the quote; reading it needs no private key', async () => {
    await using context = await openPriced()
    const made = await requestQuote(context)
    const [row] = await context.state.all<{ keyId: string; length: number }>(
      'select receipt_key as "keyId", length(receipt_signature) as length from fx_quotes',
    )
    assert.deepEqual(row, { keyId: (await getReceiptSigner(context)).id, length: 64 })
    await context.state.write((tx) => tx.run('update fx_receipt_keys set private_key = ?', new Uint8Array(0)))
    const readOnly = {
      ...context,
      state: { ...context.state, get: context.state.get.bind(context.state) },
    } as AppContext
    assert.ok(isGood(await receiptFor(readOnly, made.id), { reply: made.bytes }))
  })

  test('a receipt that was changed in the store is not signed again, so its signature is invalid', async () => {
    await using context = await openPriced()
    const made = await requestQuote(context)
    await context.state.write((tx) =>
      tx.run(`update fx_quotes set priced_from = replace(priced_from, '"spreadPpm":500', '"spreadPpm":501')`),
    )
    const [first] = checkReceipt(await receiptFor(context, made.id))
    assert.deepEqual([first?.name, first?.ok], ['signature', false])
  })

  test('the key is created once, survives a restart, and its public key is public', async () => {
    await using context = await openPriced()
    const [one, two] = await Promise.all([getReceiptSigner(context), getReceiptSigner({ ...context })])
    assert.equal(one.publicKey, two.publicKey)
    const shown = await receiptKey.handle({}, context, testRequestInfo())
    assert.ok(shown.is === 'body')
    assert.equal(shown.body.publicKey, one.publicKey)
    assert.equal(shown.body.createdAt, new Date(testNowMs).toISOString())
    assert.deepEqual(shown.body.past, [])
    const again = await openState(context.dir, context.settings.store)
    assert.equal((await getReceiptSigner(createContext({ ...context, state: again }))).publicKey, one.publicKey)
    await again.close()
  })
})

describe('behaviour/fx.md#receipt-keys: a new key', () => {
  const shownKeys = async (context: AppContext) => {
    const shown = await receiptKey.handle({}, context, testRequestInfo())
    assert.ok(shown.is === 'body')
    assert.deepEqual(checker(extensions['fx.receiptKey'].reply)(shown.body), [])
    return shown.body
  }

  test('signs new quotes; earlier receipts keep their signatures', async () => {
    await using context = await openPriced()
    const made = [await requestQuote(context)]
    for (let round = 0; round < 2; round++) {
      context.clock.advance(86_400_000)
      await rotateReceiptKey(context)
      await storeRatesOfSources(context)
      made.push(await requestQuote(context))
    }
    const documents = await Promise.all(made.map(({ id }) => receiptFor(context, id)))
    const { publicKey, keyId, createdAt, past } = await shownKeys(context)
    assert.deepEqual(
      documents.map(({ signature }) => signature.keyId),
      [past[1]?.keyId, past[0]?.keyId, keyId],
    )
    assert.equal(new Set(documents.map(({ signature }) => signature.publicKey)).size, 3)
    const publicKeys = [publicKey, ...past.map((one) => one.publicKey)]
    for (const [at, document] of documents.entries()) {
      assert.ok(isGood(document, { publicKeys, reply: made[at]?.bytes }))
    }
    assert.equal(isGood(documents[0], { publicKeys: [publicKey] }), false)
    // One day each, without a gap.
    const day = (days: number) => new Date(testNowMs + days * 86_400_000).toISOString()
    assert.deepEqual(
      [past[1]?.createdAt, past[1]?.retiredAt, past[0]?.createdAt, past[0]?.retiredAt, createdAt],
      [day(0), day(1), day(1), day(2), day(2)],
    )
  })

  test('is used at once by a running server, and the old private key is deleted', async () => {
    await using context = await openPriced()
    const { signature: before } = await receiptFor(context, (await requestQuote(context)).id)
    const secondStore = await openState(context.dir, context.settings.store)
    const made = await rotateReceiptKey({ ...context, state: secondStore })
    await secondStore.close()
    assert.notEqual(made.publicKey, before.publicKey)
    const { signature: after } = await receiptFor(context, (await requestQuote(context)).id)
    assert.deepEqual([after.keyId, after.publicKey], [made.id, made.publicKey])
    assert.equal(await countQuotes(context), 2)
    const rows = await context.state.all<{ id: string; private_key: Uint8Array }>(
      'select id, private_key from fx_receipt_keys where retired_ms is not null',
    )
    assert.deepEqual(
      rows.map(({ id, private_key }) => [id, private_key.length]),
      [[before.keyId, 0]],
    )
  })

  test('can be the first key', async () => {
    await using context = await openPriced()
    const made = await rotateReceiptKey(context)
    const { keyId, past } = await shownKeys(context)
    assert.deepEqual([keyId, past], [made.id, []])
  })
})

describe('404', () => {
  test('an unknown quote and the quote of another key give the same response', async () => {
    await using context = await openPriced()
    const made = await requestQuote(context)
    const otherCaller = testRequestInfo({ caller: { keyId: 'other', plan: 'enterprise' } })
    const unknownId = '00000000-0000-4000-8000-000000000000'
    for (const endpoint of [quote, receipt]) {
      assert.deepEqual(await endpoint.handle({ id: made.id }, context, otherCaller), { is: 'nothing' })
      assert.deepEqual(await endpoint.handle({ id: unknownId }, context, testRequestInfo()), { is: 'nothing' })
    }
  })
})

describe('offline check', () => {
  test('receipts of direct, crossed and same-currency quotes, by from and to, with any decimals, are valid', async () => {
    await using context = await openPriced()
    const codes = ['USDC', 'EURC', 'JPYX', 'CHFX'] as const
    let crossed = 0
    for (const from of codes) {
      for (const to of codes) {
        if (from === to) continue
        for (const side of ['from', 'to'] as const) {
          const amounts = { from: { currency: from }, to: { currency: to } }
          const input = { ...amounts, [side]: { currency: amounts[side].currency, amount: '123.45' } }
          const made = await requestQuote(context, { ...input, tenor: side === 'to' ? 'daily' : 'hourly' })
          const document = await receiptFor(context, made.id)
          if (document.receipt.via) crossed += 1
          const checks = checkReceipt(document, { publicKeys: [document.signature.publicKey], reply: made.bytes })
          assert.deepEqual(
            checks.filter(({ ok }) => !ok),
            [],
            JSON.stringify(document),
          )
          assert.ok(checks.length >= 9)
        }
      }
    }
    assert.ok(crossed > 0)
  })

  test('the signature detects any change of a receipt', async () => {
    await using context = await openPriced()
    const document = await receiptFor(context, (await requestQuote(context)).id)
    const paths = leafPaths(document)
    assert.ok(paths.length > 40)
    fc.assert(
      fc.property(fc.constantFrom(...paths), fc.string({ minLength: 1, maxLength: 3 }), (path, noise) => {
        const changed = structuredClone(document) as unknown as Record<string, unknown>
        edit(changed, path, noise)
        assert.equal(isGood(changed), false, path.join('.'))
      }),
      { numRuns: 300 },
    )
  })

  test('a signed receipt with a wrong price is detected, because each step is computed again', async () => {
    await using context = await openPriced()
    const { receipt: honest } = await receiptFor(context, (await requestQuote(context)).id)
    const key = privateKeyOf(new Uint8Array(32).fill(9))
    const publicBytes = Buffer.from(publicBytesOf(key))
    const { fingerprintOf } = await import('../../receipts/ed25519.ts')
    const resign = async (changes: object) => {
      const body = { ...honest, ...changes }
      const value = Buffer.from(await signEd25519(key, new TextEncoder().encode(canonicalJson(body)))).toString(
        'base64url',
      )
      const signature = {
        algorithm: 'Ed25519',
        keyId: fingerprintOf(publicBytes),
        publicKey: publicBytes.toString('base64url'),
        value,
      }
      return checkReceipt({ receipt: body, signature })
        .filter(({ ok }) => !ok)
        .map(({ name }) => name)
    }
    const of = (changes: object) => ({ quote: { ...honest.quote, ...changes } })
    assert.deepEqual(await resign({}), [])
    assert.deepEqual(await resign(of({ rate: '0.92' })), ['rate'])
    assert.deepEqual(await resign(of({ fee: '0.000001' })), ['fee'])
    assert.deepEqual(await resign(of({ collateral: '1' })), ['collateral'])
    assert.deepEqual(await resign(of({ to: { ...honest.quote.to, amount: '1.000000' } })), ['amounts'])
    assert.deepEqual(await resign({ rates: honest.rates.slice(1) }), ['mid'])
    assert.deepEqual(await resign({ excluded: [], rates: [...honest.rates, ...honest.excluded] }), ['mid'])
    assert.deepEqual(await resign({ mid: { numerator: '1', denominator: '1' } }), ['mid'])
    assert.deepEqual(await resign({ mid: { numerator: '0', denominator: '0' } }), ['mid'])
    const priced = ['rate', 'amounts', 'fee']
    assert.deepEqual(await resign({ terms: { ...honest.terms, spreadPpm: 0 } }), ['rules', ...priced])
    const rule = { id: 'tier', pair: 'EURC/USDC', tenors: [], minSize: '900', when: null, spreadPpm: 0, skewPpm: null }
    const { basicSpreadPpm: _, ...terms } = { ...honest.terms, spreadPpm: 0 }
    const free = { ...terms, basicSpreadPpm: 500 }
    assert.deepEqual(await resign({ terms: free, rules: [rule] }), priced)
    // 1000 USDC are 922 EURC.
    assert.deepEqual(await resign({ terms: free, rules: [{ ...rule, minSize: '923' }] }), ['rules', ...priced])
    assert.deepEqual(await resign({ terms: free, rules: [{ ...rule, pair: 'EURC/JPYX' }] }), ['rules', ...priced])
    assert.deepEqual(await resign({ terms: free, rules: [{ ...rule, tenors: ['daily'] }] }), ['rules', ...priced])
    const when = { week: 'Mon 00:00 - Tue 00:00', timeZone: 'UTC', holidays: 'none', dates: [] }
    assert.deepEqual(await resign({ terms: free, rules: [{ ...rule, when }] }), ['rules', ...priced])
    assert.deepEqual(await resign({ rules: [{ ...rule, spreadPpm: null, skewPpm: 100 }] }), priced)
    assert.deepEqual(await resign({ rules: undefined }), ['rules'])
    assert.deepEqual(await resign({ rates: [] }), ['mid'])
  })

  test('a different key, a different quote and other documents are reported as such', async () => {
    await using context = await openPriced()
    const made = await requestQuote(context)
    const document = await receiptFor(context, made.id)
    const failing = (of: unknown, options = {}) =>
      checkReceipt(of, options)
        .filter(({ ok }) => !ok)
        .map(({ name }) => name)
    assert.deepEqual(failing(document, { publicKeys: ['A'.repeat(43)] }), ['key'])
    assert.deepEqual(failing(document, { reply: new Uint8Array(3) }), ['reply'])
    for (const other of [null, 1, 'x', [], {}, { receipt: {} }]) assert.deepEqual(failing(other), ['form'])
  })
})

function leafPaths(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [path]
  return Object.entries(value).flatMap(([name, member]) => leafPaths(member, [...path, name]))
}

function edit(value: Record<string, unknown>, [name = '', ...rest]: readonly string[], noise: string): void {
  const held = value[name]
  if (rest.length > 0) edit(held as Record<string, unknown>, rest, noise)
  else value[name] = typeof held === 'number' ? held + 1 : `${String(held)}${noise}`
}
