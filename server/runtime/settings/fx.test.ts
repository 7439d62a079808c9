import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { complete } from '#core/schema-check.ts'
import { type FxSettings, type FxSource, fxProblems, fxSettings } from './fx.ts'
import { ratesTakeoverMs, takeoverProblems, timingOf } from './fx-sources.ts'

const read = (changes: object) => complete(fxSettings, changes)
const problemsOf = (changes: object): readonly string[] => {
  const { value, problems } = read(changes)
  assert.deepEqual(problems, [])
  return fxProblems(value as FxSettings).map(({ at, message }) => `${at.join('.')} ${message}`)
}

test('basis points are whole numbers or texts with two decimals; a fraction as a number is refused', () => {
  const terms = (spreadBps: unknown) => read({ terms: { instant: { spreadBps } } }).problems
  for (const good of [0, 5, 9999, '2.5', '0.01', '9999.99']) assert.deepEqual(terms(good), [], String(good))
  for (const bad of [2.5, -1, 10_000, '2.555', '', '-1', '10000', '1e2']) {
    assert.notDeepEqual(terms(bad), [], String(bad))
  }
})

test('a source is complete with an id, a kind and a URL', () => {
  const { value, problems } = read({ sources: [{ id: 'a', kind: 'http-json', url: 'https://rates.example/v1' }] })
  assert.deepEqual(problems, [])
  assert.deepEqual((value as FxSettings).sources[0]?.document, {
    list: 'rates',
    name: '',
    base: 'base',
    quote: 'quote',
    rate: 'rate',
    bid: '',
    ask: '',
    sides: 'mid',
    exponent: '',
    decimals: '',
    time: 'time',
    times: 'time',
  })
})

test('the defaults contradict nothing', () => {
  assert.deepEqual(problemsOf({}), [])
})

test('duplicate names, unknown names and reversed ranges are reported together', () => {
  const source = { id: 'a', kind: 'http-json', url: 'https://rates.example/v1' }
  assert.deepEqual(
    problemsOf({
      sources: [source, source],
      limits: { min: '5', max: '4' },
      pairs: [
        { from: 'USDC', to: 'GBPX', max: '6' },
        { from: 'USDC', to: 'EURC', min: '5', max: '5.0' },
      ],
    }),
    [
      'fx.sources.1.id is used twice',
      'fx.limits must have a max (4) that is at least its min (5)',
      'fx.pairs.0.to must be the code of a token',
    ],
  )
})

test('a range names both of its ends: the one at fault may be a default', () => {
  assert.deepEqual(problemsOf({ limits: { max: '0.5' } }), [
    'fx.limits must have a max (0.5) that is at least its min (1)',
  ])
  assert.deepEqual(problemsOf({ pairs: [{ from: 'USDC', to: 'EURC', max: '0.5' }] }), [
    'fx.pairs.0 must have a max (0.5) that is at least its min (1)',
  ])
})

test('an amount with too many digits is reported with the allowed number', () => {
  for (const max of ['1'.repeat(19), '1.1234567']) {
    const [problem] = read({ limits: { max } }).problems
    assert.equal(
      problem?.message,
      'must be a decimal with at most 18 digits before the point and 6 after it, as a string',
    )
  }
  assert.deepEqual(read({ limits: { max: `${'1'.repeat(18)}.123456` } }).problems, [])
})

test('each kind of source asks for what it needs and refuses what it cannot use', () => {
  const of = (changes: object) => problemsOf({ sources: [{ id: 'a', ...changes }] })
  const url = 'https://rates.example/v1'
  const contract = `0x${'12'.repeat(20)}`
  assert.deepEqual(of({ kind: 'http-json' }), ['fx.sources.0.url is required for http-json'])
  assert.deepEqual(of({ kind: 'ecb' }), ['fx.sources.0.url is required for ecb, or path'])
  assert.deepEqual(of({ kind: 'ecb', path: 'rates.xml' }), [])
  assert.deepEqual(of({ kind: 'ecb', path: 'rates.xml', url }), ['fx.sources.0.path must not be set together with url'])
  assert.deepEqual(of({ kind: 'file', path: 'rates.json', url }), ['fx.sources.0.url has no meaning for file'])
  assert.deepEqual(of({ kind: 'aggregator', url }), [
    'fx.sources.0.contract is required for aggregator',
    'fx.sources.0.pair is required for aggregator',
  ])
  assert.deepEqual(of({ kind: 'aggregator', url, contract, pair: 'EUR/EUR' }), [
    'fx.sources.0.pair must be two different currencies',
  ])
  assert.deepEqual(of({ kind: 'push' }), [])
  assert.deepEqual(of({ kind: 'push', closed: { timeZone: 'Mars/Olympus' } }), [
    'fx.sources.0.closed.timeZone is not a known time zone',
  ])
})

test('a path is text with dots or a list of names', () => {
  const problems = (rate: unknown) =>
    read({ sources: [{ id: 'a', kind: 'http-json', url: 'https://rates.example/', document: { rate } }] }).problems
  for (const good of ['', 'price', 'a.b', '$.a', '$key', ['5. Exchange Rate'], ['$', 'a.b']])
    assert.deepEqual(problems(good), [], String(good))
  for (const bad of ['a..b', '.a', 7, [''], [7]]) assert.notDeepEqual(problems(bad), [], String(bad))
})

test('settings of a document and of its request that contradict each other are reported', () => {
  const source = { id: 'a', kind: 'http-json', url: 'https://rates.example/v1' }
  const of = (changes: object) => problemsOf({ sources: [{ ...source, ...changes }] })
  const pairs = [{ name: 'EUR_USD', pair: 'EUR/USD' }]
  assert.deepEqual(of({ pairs, document: { name: 'id' } }), [])
  assert.deepEqual(of({ pairs, pair: 'EUR/USD', document: { name: 'id' } }), [
    'fx.sources.0.pairs must not be set together with pair',
  ])
  assert.deepEqual(of({ pairs }), [
    'fx.sources.0.document.name must be set together with pairs: it leads to the name of an entry',
  ])
  assert.deepEqual(of({ pairs: [...pairs, { name: 'EUR_USD', pair: 'USD/USD' }], document: { name: 'id' } }), [
    'fx.sources.0.pairs.1.name is used twice',
    'fx.sources.0.pairs.1.pair must be two different currencies',
  ])
  assert.deepEqual(of({ document: { bid: 'bid' } }), ['fx.sources.0.document.ask must be set together with bid'])
  assert.deepEqual(of({ document: { sides: 'each' } }), ['fx.sources.0.document.sides needs bid and ask'])
  assert.deepEqual(of({ document: { exponent: 'expo', decimals: 'decimals' } }), [
    'fx.sources.0.document.decimals must not be set together with exponent',
  ])
  assert.deepEqual(of({ body: '{' }), ['fx.sources.0.body must be JSON'])
  const headers = [
    { name: 'x-key', env: 'KEY' },
    { name: 'X-Key', file: 'key' },
    { name: 'Host', env: 'HOST' },
    { name: 'a' },
    { name: 'b', env: 'B', file: 'b' },
  ]
  assert.deepEqual(of({ headers }), [
    'fx.sources.0.headers.1.name is used twice',
    'fx.sources.0.headers.2.name must not be a header of the connection',
    'fx.sources.0.headers.3 must have exactly one of env and file',
    'fx.sources.0.headers.4 must have exactly one of env and file',
  ])
  assert.deepEqual(problemsOf({ sources: [{ id: 'a', kind: 'push', headers, body: '{}' }] }).slice(0, 2), [
    'fx.sources.0.headers has no meaning for push',
    'fx.sources.0.body has no meaning for push',
  ])
})

test('a source without figures of its own has those of its kind; the bank rests at weekends', () => {
  const timing = (changes: object) => {
    const { value, problems } = read({ sources: [{ id: 'a', ...changes }] })
    assert.deepEqual(problems, [])
    return timingOf((value as FxSettings).sources[0] as FxSource)
  }
  assert.deepEqual(timing({ kind: 'push' }), {
    everyMs: 3_600_000,
    staleMs: 900_000,
    closed: undefined,
    confirmMs: Number.POSITIVE_INFINITY,
  })
  assert.equal(timing({ kind: 'ecb', path: 'a.xml' }).closed?.holidays, 'target')
  assert.deepEqual(timing({ kind: 'ecb', path: 'a.xml', staleMs: 5000, closed: { week: 'Fri 17:00 - Sun 17:00' } }), {
    everyMs: 600_000,
    staleMs: 5000,
    confirmMs: 2_408_000,
    closed: { week: 'Fri 17:00 - Sun 17:00', timeZone: 'UTC', holidays: 'none', dates: [] },
  })
  assert.notDeepEqual(read({ sources: [{ id: 'a', kind: 'push', closed: { week: 'Fri 5pm' } }] }).problems, [])
})

const sourceOf = (changes: object): FxSource => {
  const { value, problems } = read({ sources: [{ id: 'a', kind: 'http-json', url: 'https://a.example/', ...changes }] })
  assert.deepEqual(problems, [])
  return (value as FxSettings).sources[0] as FxSource
}

test('another server takes over before fresh rates expire, with every setting that is allowed', () => {
  const timings = fc.record({
    everyMs: fc.oneof(fc.integer({ min: 250, max: 10_000 }), fc.integer({ min: 250, max: 86_400_000 })),
    timeoutMs: fc.oneof(fc.integer({ min: 100, max: 5000 }), fc.integer({ min: 100, max: 600_000 })),
    staleMs: fc.oneof(fc.integer({ min: 1000, max: 60_000 }), fc.integer({ min: 1000, max: 2_592_000_000 })),
  })
  fc.assert(
    fc.property(fc.array(timings, { minLength: 1, maxLength: 3 }), (changes) => {
      const sources = changes.map(sourceOf)
      fc.pre(takeoverProblems(sources).length === 0)
      const takeoverMs = ratesTakeoverMs(sources)
      assert.ok(takeoverMs >= 2500 && takeoverMs <= 25_000)
      for (const source of sources) {
        const { everyMs, staleMs, confirmMs } = timingOf(source)
        const missingMs = everyMs + 2 * source.timeoutMs + takeoverMs
        assert.ok(missingMs <= staleMs && missingMs <= confirmMs, JSON.stringify(source))
      }
    }),
    { numRuns: 300 },
  )
})

test('the defaults leave 15 s for a takeover; rates that would expire before one are refused', () => {
  assert.equal(ratesTakeoverMs([sourceOf({})]), 15_000)
  assert.equal(ratesTakeoverMs([sourceOf({ everyMs: 600_000, staleMs: 2_592_000_000 })]), 25_000)
  const push = complete(fxSettings, { sources: [{ id: 'a', kind: 'push', staleMs: 1000 }] }).value as FxSettings
  assert.equal(ratesTakeoverMs(push.sources), 25_000)
  assert.deepEqual(takeoverProblems(push.sources), [])
  const fits = { everyMs: 1000, timeoutMs: 500, staleMs: 4500 }
  assert.deepEqual(takeoverProblems([sourceOf(fits)]), [])
  const [problem, ...others] = takeoverProblems([sourceOf(fits), sourceOf({ ...fits, staleMs: 4499 })])
  assert.deepEqual([problem?.at, problem?.value, others], [['fx', 'sources', '1', 'staleMs'], 4499, []])
  assert.match(problem?.message ?? '', /must be at least 4500 with store\.state/)
})

test('pricing rules without effect, unit or known token are reported', () => {
  const of = (changes: object) => problemsOf({ rules: [{ id: 'a', ...changes }] })
  const pairs = ['EURC/USDC']
  assert.deepEqual(of({ pairs, minSize: '100000', spreadBps: '2.5' }), [])
  assert.deepEqual(of({ pairs, skewBps: '-1.5' }), [])
  assert.deepEqual(of({ when: { week: 'Fri 17:00 - Sun 17:00', timeZone: 'America/New_York' }, stop: true }), [])
  assert.deepEqual(of({}), ['fx.rules.0.id must have at least one of spreadBps, skewBps, stop and maxPerHour'])
  assert.deepEqual(of({ stop: true, minSize: '1' }), [
    'fx.rules.0.minSize needs pairs that all begin with the same token',
  ])
  assert.deepEqual(of({ pairs: ['EURC/USDC', 'USDC/EURC'], maxPerHour: '1' }), [
    'fx.rules.0.maxPerHour needs pairs that all begin with the same token',
  ])
  assert.deepEqual(of({ pairs, maxPerHour: '1000000000001' }), ['fx.rules.0.maxPerHour must be at most 1000000000000'])
  assert.deepEqual(of({ skewBps: 1 }), ['fx.rules.0.skewBps needs pairs'])
  for (const condition of [{ minSize: '1' }, { tenors: ['daily'] }]) {
    assert.deepEqual(of({ pairs, skewBps: 1, ...condition }), [
      'fx.rules.0.skewBps must not depend on minSize or tenors: the bid would be above the ask',
    ])
  }
  assert.deepEqual(of({ pairs: ['EURC/EURC', 'EURC/GBPX'], stop: true }), [
    'fx.rules.0.pairs must be pairs of two different tokens; EURC/EURC is not',
    'fx.rules.0.pairs must be codes of tokens; unknown: GBPX',
  ])
  assert.deepEqual(of({ stop: true, when: { timeZone: 'Mars/Olympus' } }), [
    'fx.rules.0.when.timeZone is not a known time zone',
    'fx.rules.0.when needs a week, holidays, dates or a file',
  ])
  const twice = [{ id: 'a', stop: true }]
  assert.deepEqual(problemsOf({ rules: [...twice, ...twice] }), ['fx.rules.1.id is used twice'])
  for (const bad of [{ skewBps: 10_000 }, { skewBps: '1.555' }, { spreadBps: -1 }, { spreadBps: 2.5 }])
    assert.notDeepEqual(read({ rules: [{ id: 'a', pairs, ...bad }] }).problems, [], JSON.stringify(bad))
})
