import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { parseJson } from '#api/contract/json.ts'
import { Quote } from '#api/contract/wire/fx.ts'
import { Fault } from '#core/fault.ts'
import { checker } from '#core/schema-check.ts'
import { stateWith } from '#test/authorization.ts'
import { openContext, testNowMs, testRequestInfo } from '#test/context.ts'
import type { FxContext } from '../context.ts'
import type { QuoteInput } from '../pricing/quote-input.ts'
import { storeRates } from '../rates/rate-store.ts'
import { createQuote } from './create-quote.ts'

const recipient = '0x1111111111111111111111111111111111111111'
const source = { id: 'a', kind: 'http-json', url: 'https://rates.example/', everyMs: 2000, staleMs: 60_000 }
const usual: QuoteInput = {
  from: { currency: 'USDC', amount: '1000.00' },
  to: { currency: 'EURC' },
  tenor: 'instant',
  type: 'tradable',
  recipientAddress: recipient,
}
const byTo: QuoteInput = { ...usual, from: { currency: 'USDC' }, to: { currency: 'EURC', amount: '1000' } }
const token = (code: string, tracks: string, decimals: number) => ({
  code,
  tracks,
  decimals,
  contract: `0x${String(decimals).padStart(40, '1')}`,
})

const twoOfADollar = [token('USDC', 'USD', 6), token('USDX', 'USD', 18)]

/** One source with EUR/USD 1.25, so USD/EUR is 0.8. */
async function openPricedContext(fx: object = {}) {
  const context = await openContext({
    fx: { spender: '0x3333333333333333333333333333333333333333', sources: [source], ...fx },
  })
  await storeRate(context, '1.25', testNowMs - 1000)
  return context
}

const storeRate = (context: FxContext, rate: string, atMs: number, receivedMs = atMs) =>
  storeRates(context.state, 'a', [{ source: 'a', base: 'EUR', quote: 'USD', rate, atMs }], receivedMs)

async function bytesOf(context: FxContext, input: QuoteInput): Promise<string> {
  const outcome = await createQuote.handle(input, context, testRequestInfo())
  assert.ok(outcome.is === 'bytes')
  return new TextDecoder().decode(outcome.bytes)
}
const check = checker(Quote)
async function quoteOf(context: FxContext, input: QuoteInput): Promise<Quote> {
  const text = await bytesOf(context, input)
  // The validator does not support bigint. A rounded integer is still an integer.
  assert.deepEqual(check(JSON.parse(text)), [])
  return parseJson(text) as Quote
}
const refusedWith = (code: string, status: number) => (error: unknown) => {
  assert.ok(error instanceof Fault, String(error))
  assert.deepEqual([error.code, error.status], [code, status])
  return true
}
const count = async (context: FxContext, table: string) =>
  (await context.state.get<{ count: number }>(`select count(*) as count from ${table}`))?.count

describe('200', () => {
  test('a request by from is priced at the mid less the spread: 1000 USDC at 0.8 less 5 bps', async () => {
    await using context = await openPricedContext()
    const { id, typedData, ...quote } = await quoteOf(context, usual)
    // 0.8 × 0.9995 = 0.7996; 799.6 × 0.0002 = 0.15992
    assert.deepEqual(quote, {
      rate: 0.7996,
      to: { currency: 'EURC', amount: '799.600000' },
      from: { currency: 'USDC', amount: '1000.00' },
      createdAt: '2026-11-15T12:00:00.000Z',
      expiresAt: '2026-11-15T12:00:30.000Z',
      fee: '0.159920',
    })
    assert.match(id, /^[0-9a-f-]{36}$/)
    assert.equal(typedData?.message.permitted.amount, 1_000_000_000)
    assert.equal(typedData?.message.witness.recipient, recipient)
    assert.equal(typedData?.message.deadline, testNowMs / 1000 + 1800)
    assert.deepEqual(typedData?.domain, {
      name: 'Permit2',
      chainId: 1,
      verifyingContract: '0x000000000022D473030F116dDEE9F6B43aC78BA3',
    })
  })

  test('a requested amount is returned without leading zeros and with its trailing zeros', async () => {
    await using context = await openPricedContext()
    const amountsFor = async (amount: string) => {
      const { from, to } = await quoteOf(context, { ...usual, from: { currency: 'USDC', amount } })
      return [from.amount, to.amount]
    }
    assert.deepEqual(await amountsFor('00010'), ['10', '7.996000'])
    assert.deepEqual(await amountsFor('0001.50'), ['1.50', '1.199400'])
    assert.deepEqual(await amountsFor('1000.00'), ['1000.00', '799.600000'])
  })

  test('for a request by to, the response has the requested amount plus the fee', async () => {
    await using context = await openPricedContext()
    const quote = await quoteOf(context, byTo)
    // fee 1000 × 0.0002 ÷ 0.9998 = 0.200041 (up); 1000.200041 ÷ 0.7996 = 1250.875489 (up)
    assert.deepEqual([quote.to.amount, quote.fee, quote.from.amount], ['1000.200041', '0.200041', '1250.875489'])
  })

  test('a reference quote has the price of a tradable one, nothing to sign, no recipient, and five minutes', async () => {
    await using context = await openPricedContext()
    const { recipientAddress: _, ...rest } = usual
    const reference = await quoteOf(context, { ...rest, type: 'reference' })
    const tradable = await quoteOf(context, usual)
    assert.equal(reference.typedData, undefined)
    assert.equal(reference.expiresAt, '2026-11-15T12:05:00.000Z')
    const priceOf = ({ rate, from, to, fee, collateral }: Quote) => ({ rate, from, to, fee, collateral })
    assert.deepEqual(priceOf(reference), priceOf(tradable))
  })

  test('the tenor sets maturity and terms', async () => {
    await using context = await openPricedContext()
    const seen: [number | undefined, number][] = []
    for (const tenor of ['instant', 'hourly', 'daily'] as const) {
      const { typedData, rate } = await quoteOf(context, { ...usual, tenor })
      seen.push([typedData && typedData.message.witness.consideration.maturity - testNowMs / 1000, rate])
    }
    assert.deepEqual(seen, [
      [1800, 0.7996],
      [3600, 0.79936],
      [86_400, 0.79904],
    ])
  })

  test('terms of a pair apply to its direction only', async () => {
    const pairs = [{ from: 'USDC', to: 'EURC', instant: { spreadBps: '12.5', collateralBps: 1000 } }]
    await using context = await openPricedContext({ pairs })
    const quote = await quoteOf(context, usual)
    assert.deepEqual([quote.rate, quote.fee, quote.collateral], [0.799, '0.159800', '100.000000'])
    assert.equal(quote.typedData?.message.permitted.amount, 100_000_000)
    const back = await quoteOf(context, {
      ...usual,
      from: { ...usual.from, currency: 'EURC' },
      to: { currency: 'USDC' },
    })
    assert.deepEqual([back.rate, back.collateral], [1.249375, undefined])
  })

  test('amounts above 2^53 of tokens with 18 decimals are exact JSON integers', async () => {
    await using context = await openPricedContext({ tokens: [token('USDX', 'USD', 18), token('EURX', 'EUR', 18)] })
    const text = await bytesOf(context, {
      ...usual,
      from: { currency: 'USDX', amount: '1234567.654321' },
      to: { currency: 'EURX' },
    })
    assert.match(text, /"permitted":\{"token":"0x[0-9a-f]{40}","amount":1234567654321000000000000\}/)
    assert.match(text, /"quoteAmount":"1234567654321000000000000"/)
  })

  test('two tokens of the same currency trade at par if the pair is configured', async () => {
    const pairs = [{ from: 'USDC', to: 'USDX' }]
    await using context = await openPricedContext({ tokens: twoOfADollar, pairs, sources: [] })
    const quote = await quoteOf(context, { ...usual, to: { currency: 'USDX' } })
    assert.equal(quote.to.amount, '999.500000')
    const back = { ...usual, from: { currency: 'USDX', amount: '10' }, to: { currency: 'USDC' } }
    await assert.rejects(bytesOf(context, back), refusedWith('fx.pair_unknown', 400))
  })

  test('a reference quote uses every source, a tradable one only tradable sources', async () => {
    const bank = { id: 'bank', kind: 'ecb', path: 'rates.xml' }
    await using context = await openPricedContext({ sources: [source, bank], outlierBps: 9999 })
    const rate = { source: 'bank', base: 'EUR', quote: 'USD', rate: '1', atMs: testNowMs - 1000 }
    await storeRates(context.state, 'bank', [rate], testNowMs)
    // The median of 1.25 and 1 is 1.125: 1 ÷ 1.125 × 0.9995 = 0.88844…
    assert.equal((await quoteOf(context, { ...usual, type: 'reference' })).rate, 0.888444444444444)
    assert.equal((await quoteOf(context, usual)).rate, 0.7996)
  })

  test('concurrent quotes read the rates once, and a quote after a new rate uses it', async () => {
    await using context = await openPricedContext()
    let reads = 0
    const state = stateWith(context.state, {
      all: (sql, ...values) => {
        if (sql.includes('from fx_latest')) reads += 1
        return context.state.all(sql, ...values)
      },
    })
    const quotes = await Promise.all(Array.from({ length: 8 }, () => quoteOf({ ...context, state }, usual)))
    assert.equal(reads, 1)
    const [first] = quotes
    assert.ok(quotes.every(({ rate }) => rate === first?.rate))
    await storeRate(context, '2.5', testNowMs)
    const { rate } = await quoteOf({ ...context, state }, usual)
    assert.equal(rate, (first?.rate ?? 0) / 2)
    assert.equal(reads, 2)
  })

  test('the as-of header is the time of the oldest rate used', async () => {
    await using context = await openPricedContext()
    const outcome = await createQuote.handle(usual, context, testRequestInfo())
    assert.equal(outcome.is === 'bytes' && outcome.confidence?.asOf, '2026-11-15T11:59:59.000Z')
  })

  test('a quote is stored with its response and receipt before it is returned', async () => {
    await using context = await openPricedContext()
    const text = await bytesOf(context, usual)
    const { id } = JSON.parse(text) as Quote
    const row = await context.state.get<{ reply: Uint8Array; priced: string; nonce: number }>(
      'select reply, priced_from as priced, nonce from fx_quotes where id = ?',
      id,
    )
    assert.equal(new TextDecoder().decode(row?.reply), text)
    const priced = JSON.parse(row?.priced ?? '')
    const at = new Date(testNowMs - 1000).toISOString()
    assert.deepEqual(priced.rates, [{ source: 'a', base: 'EUR', quote: 'USD', rate: '1.25', at }])
    assert.deepEqual(priced.mid, { numerator: '100', denominator: '125' })
    assert.equal(priced.quote.rate, '0.7996')
    assert.equal(priced.quote.sha256, createHash('sha256').update(text).digest('hex'))
  })

  test('nonces are at most 2^53 − 1, and a taken nonce is replaced', async () => {
    await using context = await openPricedContext()
    const full = { ...context, random: { ...context.random, bytes: (size: number) => new Uint8Array(size).fill(255) } }
    const first = await quoteOf(full, usual)
    assert.equal(first.typedData?.message.nonce, Number.MAX_SAFE_INTEGER)
    let draws = 0
    const second = await quoteOf(
      { ...full, random: { ...context.random, bytes: (size) => new Uint8Array(size).fill(draws++ < 2 ? 255 : 0) } },
      usual,
    )
    assert.equal(second.typedData?.message.nonce, 0)
    await assert.rejects(bytesOf(full, usual), /could not store a quote in 5 attempts/)
    assert.equal(await count(context, 'fx_quotes'), 2)
  })
})

describe('400', () => {
  const problemLocations = async (context: FxContext, input: QuoteInput): Promise<readonly string[]> => {
    try {
      await bytesOf(context, input)
    } catch (error) {
      assert.ok(refusedWith('input.invalid', 400)(error))
      return (error as Fault).problems.map(({ at }) => at.join('.'))
    }
    return []
  }

  test('all problems of a request are reported at once', async () => {
    await using context = await openPricedContext()
    const worst: QuoteInput = {
      from: { currency: 'USDC', amount: '0' },
      to: { currency: 'USDC', amount: '0.000' },
      tenor: 'daily',
      type: 'tradable',
    }
    assert.deepEqual(await problemLocations(context, worst), [
      'body.from.amount',
      'body.from.amount',
      'body.to.amount',
      'body.to.amount',
      'body.to.currency',
      'body.recipientAddress',
    ])
  })

  test('a recipient with a wrong checksum is refused for both types; addresses in one case are accepted', async () => {
    await using context = await openPricedContext()
    const right = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
    const wrong = right.replace('5aA', '5aa')
    for (const type of ['tradable', 'reference'] as const) {
      const to = (recipientAddress: string) => bytesOf(context, { ...usual, type, recipientAddress })
      for (const good of [right, right.toLowerCase(), `0x${right.slice(2).toUpperCase()}`]) await to(good)
      await assert.rejects(to(wrong), (error) => {
        assert.ok(refusedWith('input.invalid', 400)(error))
        assert.deepEqual((error as Fault).problems, [
          {
            at: ['body', 'recipientAddress'],
            message: 'must have a correct EIP-55 checksum: a character or its case is wrong',
            value: wrong,
          },
        ])
        return true
      })
    }
  })

  test('no amount, two amounts, an amount of zero and the zero address are refused', async () => {
    await using context = await openPricedContext()
    const none = { ...usual, from: { currency: 'USDC' } }
    assert.deepEqual(await problemLocations(context, none), ['body.from.amount', 'body.to.amount'])
    const both = { ...usual, to: { currency: 'EURC', amount: '1' } }
    assert.deepEqual(await problemLocations(context, both), ['body.from.amount', 'body.to.amount'])
    const zero = { ...usual, from: { currency: 'USDC', amount: '0.000000' } }
    assert.deepEqual(await problemLocations(context, zero), ['body.from.amount'])
    const toZeroAddress = { ...usual, recipientAddress: `0x${'0'.repeat(40)}` }
    assert.deepEqual(await problemLocations(context, toZeroAddress), ['body.recipientAddress'])
    assert.deepEqual(await problemLocations(context, { ...toZeroAddress, type: 'reference' }), [
      'body.recipientAddress',
    ])
  })

  test('an amount with more decimals than the token is refused', async () => {
    await using context = await openPricedContext({ tokens: [token('USDC', 'USD', 2), token('EURC', 'EUR', 6)] })
    assert.deepEqual(await problemLocations(context, { ...usual, from: { currency: 'USDC', amount: '10.001' } }), [
      'body.from.amount',
    ])
    assert.deepEqual(await problemLocations(context, { ...usual, from: { currency: 'USDC', amount: '10.010' } }), [])
  })

  test('an unknown currency and a direction that is not offered are refused', async () => {
    await using context = await openPricedContext({ pairs: [{ from: 'EURC', to: 'USDC', offered: false }] })
    const unknown = (message: string) => (error: unknown) => {
      assert.equal((error as Fault).publicMessage, message)
      return refusedWith('fx.pair_unknown', 400)(error)
    }
    const request = (from: string, to: string) =>
      bytesOf(context, { ...usual, from: { currency: from, amount: '10' }, to: { currency: to } })
    await assert.rejects(request('USDC', 'GBPX'), unknown('The currency GBPX is not offered.'))
    await assert.rejects(request('USDC', 'eurc'), unknown('The currency eurc is not offered.'))
    await assert.rejects(request('JPYX', 'GBPX'), unknown('The currencies JPYX and GBPX are not offered.'))
    await assert.rejects(request('EURC', 'USDC'), unknown('The pair EURC/USDC is not offered.'))
    assert.match(await bytesOf(context, usual), /"rate"/)
  })

  test('two tokens of the same currency are refused unless the pair is configured', async () => {
    await using context = await openPricedContext({ tokens: twoOfADollar })
    for (const type of ['tradable', 'reference'] as const) {
      const input = { ...usual, type, from: { currency: 'USDX', amount: '10' }, to: { currency: 'USDC' } }
      await assert.rejects(bytesOf(context, input), refusedWith('fx.pair_unknown', 400))
    }
  })

  test('amounts outside the range are refused for requests by from and by to; the limits are included', async () => {
    const pairs = [{ from: 'USDC', to: 'EURC', min: '10', max: '1250.875489' }]
    await using context = await openPricedContext({ pairs })
    const out = refusedWith('fx.amount_range', 400)
    const from = (amount: string) => bytesOf(context, { ...usual, from: { currency: 'USDC', amount } })
    await assert.rejects(from('9.999999'), out)
    await assert.rejects(from('1250.87549'), out)
    await from('10')
    await from('1250.875489')
    await bytesOf(context, byTo)
    await assert.rejects(bytesOf(context, { ...byTo, to: { currency: 'EURC', amount: '1000.000001' } }), out)
    await assert.rejects(bytesOf(context, { ...byTo, to: { currency: 'EURC', amount: '9'.repeat(64) } }), out)
  })
})

describe('501', () => {
  test('without a spender, tradable quotes are refused and reference quotes are given', async () => {
    await using context = await openPricedContext({ spender: '' })
    await assert.rejects(bytesOf(context, usual), refusedWith('fx.no_spender', 501))
    assert.equal(await count(context, 'fx_quotes'), 0)
    assert.equal((await quoteOf(context, { ...usual, type: 'reference' })).rate, 0.7996)
  })
})

describe('503', () => {
  test('a daily fixing prices no tradable quote unless the source is marked as tradable', async () => {
    const bank = { id: 'a', kind: 'ecb', path: 'rates.xml' }
    await using context = await openPricedContext({ sources: [bank] })
    await bytesOf(context, { ...usual, type: 'reference' })
    await assert.rejects(bytesOf(context, usual), (error) => {
      assert.match((error as Fault).publicMessage, /No source for tradable quotes/)
      return refusedWith('fx.rate_stale', 503)(error)
    })
    // It is Sunday, when the bank is closed.
    const rules = [{ id: 'weekend', when: { week: 'Sat 00:00 - Mon 00:00', timeZone: 'Europe/Berlin' }, spreadBps: 5 }]
    await using bold = await openPricedContext({ sources: [{ ...bank, tradable: true }], rules })
    assert.equal((await quoteOf(bold, usual)).rate, 0.7996)
  })

  test('a rate in the future is not used, for example after the clock was set back', async () => {
    await using context = await openPricedContext()
    await storeRate(context, '1.5', testNowMs + 30_001, testNowMs)
    await assert.rejects(bytesOf(context, usual), refusedWith('fx.rate_stale', 503))
    context.clock.advance(1)
    assert.notEqual((await quoteOf(context, usual)).rate, 0.7996)
  })

  test('no rate, or a rate one millisecond too old, gives 503 with retry-after', async () => {
    await using context = await openContext({
      fx: { spender: '0x3333333333333333333333333333333333333333', sources: [source] },
    })
    const stale = refusedWith('fx.rate_stale', 503)
    await assert.rejects(bytesOf(context, usual), stale)
    await storeRate(context, '1.25', testNowMs)
    context.clock.advance(60_000)
    await storeRate(context, '1.25', testNowMs, context.clock.now())
    await bytesOf(context, usual)
    context.clock.advance(1)
    await assert.rejects(bytesOf(context, usual), (error) => {
      assert.equal((error as Fault).retryAfterMs, 2000)
      return stale(error)
    })
    assert.equal(await count(context, 'fx_quotes'), 1)
  })
})

test('any amount gives a quote that matches the contract, or is refused as out of range', async () => {
  await using context = await openPricedContext({ tokens: [token('USDC', 'USD', 6), token('EURX', 'EUR', 18)] })
  const amount = fc.tuple(fc.bigInt(0n, 10n ** 9n), fc.bigInt(1n, 999_999n)).map(([whole, part]) => `${whole}.${part}`)
  await fc.assert(
    fc.asyncProperty(amount, fc.boolean(), fc.boolean(), async (text, turned, hasToAmount) => {
      const [from, to] = turned ? ['EURX', 'USDC'] : ['USDC', 'EURX']
      const sides = hasToAmount
        ? { from: { currency: from }, to: { currency: to, amount: text } }
        : { from: { currency: from, amount: text }, to: { currency: to } }
      try {
        await quoteOf(context, { ...usual, ...sides })
      } catch (error) {
        assert.ok(refusedWith('fx.amount_range', 400)(error))
      }
    }),
    { numRuns: 60 },
  )
})

test('reference and tradable quotes of the same instant have the same price', async () => {
  await using context = await openPricedContext({ terms: { daily: { collateralBps: '12.5' } } })
  const amount = fc.tuple(fc.bigInt(2n, 10n ** 6n), fc.bigInt(1n, 999_999n)).map(([whole, part]) => `${whole}.${part}`)
  const tenor = fc.constantFrom('instant', 'hourly', 'daily')
  await fc.assert(
    fc.asyncProperty(amount, tenor, fc.boolean(), fc.boolean(), async (text, when, turned, hasToAmount) => {
      const [from, to] = turned ? ['EURC', 'USDC'] : ['USDC', 'EURC']
      const sides = hasToAmount
        ? { from: { currency: from }, to: { currency: to, amount: text } }
        : { from: { currency: from, amount: text }, to: { currency: to } }
      const input = { ...usual, ...sides, tenor: when }
      const prices = await Promise.all(
        (['reference', 'tradable'] as const).map(async (type) => {
          const { rate, from: given, to: taken, fee, collateral } = await quoteOf(context, { ...input, type })
          return { rate, given, taken, fee, collateral }
        }),
      )
      assert.deepEqual(prices[0], prices[1])
    }),
    { numRuns: 60 },
  )
})
