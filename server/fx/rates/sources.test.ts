import assert from 'node:assert/strict'
import { rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { silentLog } from '#runtime/log.ts'
import type { FxSource } from '#runtime/settings/fx.ts'
import { openContext, settingsWith, testNowMs } from '#test/context.ts'
import { evmMissing, openEvm } from '#test/real-evm.ts'
import { openSettlement } from '#test/settlement.ts'
import type { FxContext } from '../context.ts'
import { parseAggregatorResults } from './aggregator.ts'
import { parseEcbDocument } from './ecb.ts'
import { rateFindings, startRates } from './poll-rates.ts'
import type { ParsedRates } from './rate-document.ts'
import { readSourceHealth } from './source-health.ts'
import { openRateReader } from './sources.ts'

const missing = await evmMissing()
if (missing) process.stderr.write(`SKIPPED: a price feed on a real EVM: ${missing}\n`)

const sourceOf = (changes: object): FxSource => {
  const [source] = settingsWith({ fx: { sources: [{ id: 'a', ...changes }] } }).fx.sources
  assert.ok(source)
  return source
}
const rateTexts = ({ rates, rejected }: ParsedRates) => [
  ...rates.map(({ base, quote, rate, atMs }) => `${base}/${quote} ${rate} ${new Date(atMs).toISOString()}`),
  ...rejected.map(({ about, reason }) => `${about}: ${reason}`),
]

const bank = (days: string) => `<?xml version="1.0" encoding="UTF-8"?>
<gesmes:Envelope xmlns:gesmes="http://www.gesmes.org/xml/2002-08-01" xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref">
	<gesmes:subject>Reference rates</gesmes:subject>
	<Cube>${days}</Cube>
</gesmes:Envelope>`
const day = (time: string, ...rates: string[]) => `<Cube time='${time}'>${rates.join('')}</Cube>`
const line = (currency: string, rate: string) => `<Cube currency='${currency}' rate='${rate}'/>`

describe('ECB daily rates', () => {
  const source = sourceOf({ kind: 'ecb', path: 'rates.xml' })
  const read = (text: string) => rateTexts(parseEcbDocument(text, source, testNowMs))

  test('a document of one day gives the euro in every currency, at 14:10 in Frankfurt', () => {
    const text = bank(day('2026-11-13', line('USD', '1.0842'), line('JPY', '164.12')))
    assert.deepEqual(read(text), ['EUR/USD 1.0842 2026-11-13T13:10:00.000Z', 'EUR/JPY 164.12 2026-11-13T13:10:00.000Z'])
    assert.deepEqual(read(text.replaceAll("'", '"')), read(text))
  })

  test('a long run of letters in an element is scanned once', () => {
    // A pattern that backtracks would take minutes.
    const text = bank(`<Cube ${'a'.repeat(1_000_000)}>${day('2026-11-13', line('USD', '1.0842'))}`)
    assert.deepEqual(read(text), ['EUR/USD 1.0842 2026-11-13T13:10:00.000Z'])
  })

  test('several days are sorted oldest first, with daylight saving time', () => {
    const text = bank(day('2026-10-26', line('USD', '1.09')) + day('2026-10-23', line('USD', '1.08')))
    assert.deepEqual(read(text), ['EUR/USD 1.08 2026-10-23T12:10:00.000Z', 'EUR/USD 1.09 2026-10-26T13:10:00.000Z'])
  })

  test('invalid rates and days in the future are rejected one by one', () => {
    const text = bank(
      day('2026-11-13', line('USD', 'N/A'), line('usd', '1.1'), line('EUR', '1'), line('CHF', '0.93')) +
        day('2026-11-16', line('USD', '1.08')) +
        day('2026-02-30', line('USD', '1.07')),
    )
    assert.deepEqual(read(text), [
      'EUR/CHF 0.93 2026-11-13T13:10:00.000Z',
      'EUR/USD: the rate N/A is not a decimal above zero',
      'EUR/usd: the pair is not two different currencies of three capital letters',
      'EUR/EUR: the pair is not two different currencies of three capital letters',
      'EUR/USD: the time is 25.2 h ahead of this clock',
      'EUR/USD: the time is missing, or is not an ISO 8601 time with a zone or a Unix time',
    ])
  })

  test('a document of another kind is an error', () => {
    for (const text of ['', '<html></html>', '{"rates":[]}', bank(''), bank(line('USD', '1'))]) {
      assert.throws(() => read(text), /no Cube elements|the time is missing/, text)
    }
    const many = Array.from({ length: 101 }, () => day('2026-11-13', line('USD', '1'))).join('')
    assert.throws(() => read(bank(many)), /more than 100 days/)
  })
})

describe('a price feed on a chain', () => {
  const source = sourceOf({
    kind: 'aggregator',
    url: 'http://node.example/',
    contract: `0x${'12'.repeat(20)}`,
    pair: 'EUR/USD',
  })
  const nowSeconds = BigInt(testNowMs / 1000)
  const words = (...values: bigint[]) =>
    `0x${values.map((value) => BigInt.asUintN(256, value).toString(16).padStart(64, '0')).join('')}`
  const read = (round: bigint, answer: bigint, updatedAt: bigint, answeredIn: bigint, decimals = 8n) =>
    rateTexts(
      parseAggregatorResults([words(round, answer, 0n, updatedAt, answeredIn), words(decimals)], source, testNowMs),
    )

  test('a complete round is a rate: 108 420 000 ÷ 10^8 = 1.08420000', () => {
    assert.deepEqual(read(7n, 108_420_000n, nowSeconds, 7n), ['EUR/USD 1.08420000 2026-11-15T12:00:00.000Z'])
    assert.deepEqual(read(7n, 2n * 10n ** 18n, nowSeconds, 8n, 18n), [
      'EUR/USD 2.000000000000000000 2026-11-15T12:00:00.000Z',
    ])
  })

  test('zero, negative, incomplete, carried over and future rounds are rejected', () => {
    assert.deepEqual(read(7n, 0n, nowSeconds, 7n), ['EUR/USD: the price is not above zero'])
    assert.deepEqual(read(7n, -1n, nowSeconds, 7n), ['EUR/USD: the price is not above zero'])
    assert.deepEqual(read(7n, 1n, 0n, 7n), ['EUR/USD: the round is not complete'])
    assert.deepEqual(read(7n, 1n, nowSeconds, 6n), ['EUR/USD: the price is from round 6, the current round is 7'])
    assert.deepEqual(read(7n, 10n ** 8n, nowSeconds + 31n, 7n), ['EUR/USD: the time is 31 s ahead of this clock'])
    assert.deepEqual(read(7n, 1n, nowSeconds, 7n, 77n), ['EUR/USD: the feed has 77 decimals'])
  })

  test('read from a real contract through a real node', { skip: missing }, async () => {
    await using evm = await openEvm(1)
    const chain = await openSettlement(evm, { given: 6, taken: 6 })
    const [operator] = evm.rich
    const feed = await chain.deploy('Feed', 8)
    const at = Math.floor(systemClock.now() / 1000) - 60
    const reader = (changes: object) => {
      const fx = {
        sources: [{ id: 'a', kind: 'aggregator', url: evm.url, contract: feed, pair: 'EUR/USD', ...changes }],
      }
      const { fx: settings } = settingsWith({ fx })
      return openRateReader(settings.sources[0] as FxSource, settings, systemClock)?.(new AbortController().signal)
    }
    await chain.call(operator, 'Feed', feed, 'set', [3n, 108_420_000n, BigInt(at), 3n])
    assert.deepEqual(rateTexts((await reader({})) as ParsedRates), [
      `EUR/USD 1.08420000 ${new Date(at * 1000).toISOString()}`,
    ])
    await assert.rejects(async () => reader({ contract: `0x${'12'.repeat(20)}` }), /no contract at this address/)
    await assert.rejects(async () => reader({ chainId: 137 }), /is on chain 1, not 137/)
  })

  test('an unreachable node is reported without an error code of another group', async () => {
    const unreachable = sourceOf({ ...source, url: 'http://127.0.0.1:1/', timeoutMs: 100 })
    const reader = openRateReader(unreachable, settingsWith({}).fx, systemClock)
    await assert.rejects(
      async () => reader?.(new AbortController().signal),
      (error: Error) => {
        assert.match(error.message, /127\.0\.0\.1/)
        assert.doesNotMatch(error.message, /explorer/)
        return true
      },
    )
  })
})

/** Waits for this number of polls, then stops. */
async function pollTimes(context: FxContext, count: number): Promise<void> {
  const stop = new AbortController()
  const enough = Promise.withResolvers<void>()
  let polls = 0
  const stopped = startRates(context, stop.signal, () => {
    polls += 1
    if (polls === count) enough.resolve()
  })
  await enough.promise
  stop.abort()
  await stopped
}

describe('two sources of different kinds', () => {
  test('a file and ECB rates over HTTP are both read, have a health each, and give one mid', async () => {
    // Monday noon: Friday's fixing is 9 h 50 + 13 h open hours old.
    const nowMs = Date.UTC(2026, 10, 16, 12)
    const server = createServer((request, response) => {
      response.writeHead(200, { 'content-type': 'application/xml' })
      response.end(request.url === '/daily.xml' ? bank(day('2026-11-13', line('USD', '1.0842'))) : 'nothing')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    await using bare = await openContext({}, nowMs)
    const path = join(bare.dir, 'desk.json')
    const time = new Date(nowMs - 5000).toISOString()
    await writeFile(path, JSON.stringify({ rates: [{ base: 'EUR', quote: 'USD', rate: 1.0844, time }] }))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/daily.xml`
    const sources = [
      { id: 'file', kind: 'file', path },
      { id: 'bank', kind: 'ecb', url },
    ]
    const context = { ...bare, settings: settingsWith({ fx: { sources } }) }
    try {
      await pollTimes(context, 2)
      const health = await readSourceHealth(context)
      assert.deepEqual(
        health.map(({ source, status, rates }) => [
          source.id,
          status?.failures,
          ...rates.map(({ status, ageMs }) => [status, ageMs]),
        ]),
        [
          ['file', 0, ['used', 5000]],
          ['bank', 0, ['used', (9 * 60 + 50 + 13 * 60) * 60_000]],
        ],
      )
      assert.equal((await rateFindings(context))[0]?.ok, true)
      await rm(path)
      await pollTimes(context, 2)
      const [file] = await readSourceHealth(context)
      assert.match(file?.status?.reason ?? '', /desk\.json does not exist/)
      assert.equal(file?.status?.goodMs, nowMs)
      // The reason may contain a path or a host, so public readiness shows only the number of failures.
      const [finding] = await rateFindings(context)
      assert.match(finding?.message ?? '', /file failed once/)
      assert.doesNotMatch(finding?.message ?? '', /desk\.json/)
    } finally {
      server.close()
    }
  })
})

test('an outlier is logged once, and once when it ends', async () => {
  const lines: string[] = []
  const log = {
    ...silentLog,
    warn: (_: object, message: string) => lines.push(message),
    info: (_: object, message: string) => lines.push(message),
  }
  await using bare = await openContext()
  const path = (id: string) => join(bare.dir, `${id}.json`)
  const publish = (id: string, rate: string) => {
    const time = new Date(bare.clock.now()).toISOString()
    return writeFile(path(id), JSON.stringify({ rates: [{ base: 'EUR', quote: 'USD', rate, time }] }))
  }
  const sources = ['a', 'b', 'c'].map((id) => ({ id, kind: 'file', path: path(id) }))
  const context = { ...bare, log: log as unknown as FxContext['log'], settings: settingsWith({ fx: { sources } }) }
  const stop = new AbortController()
  let polls = 0
  let polled = Promise.withResolvers<void>()
  const round = async (rates: readonly string[]) => {
    polled = Promise.withResolvers<void>()
    for (const [at, rate] of rates.entries()) await publish(sources[at]?.id ?? '', rate)
    bare.clock.advance(5000)
    await polled.promise
  }
  for (const { id } of sources) await publish(id, '1.25')
  const stopped = startRates(context, stop.signal, () => {
    polls += 1
    if (polls % 3 === 0) polled.resolve()
  })
  await polled.promise
  await round(['1.25', '1.25', '1.50'])
  await round(['1.25', '1.25', '1.51'])
  await round(['1.25', '1.25', '1.25'])
  stop.abort()
  await stopped
  assert.deepEqual(
    lines.filter((line) => /outlier/.test(line)),
    ['rate excluded as an outlier', 'rate is no longer an outlier'],
  )
})
