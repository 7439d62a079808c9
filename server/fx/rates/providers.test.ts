import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { FxSource } from '#runtime/settings/fx.ts'
import { settingsWith, testNowMs } from '#test/context.ts'
import { ecbDocument, type RateProvider, rateProviders } from '#test/rate-providers.ts'
import { sidesOf } from '../pricing/mid.ts'
import { parseEcbDocument } from './ecb.ts'
import { type ParsedRates, parseKeepingDigits, parseRateDocument } from './rate-document.ts'

const sourceOf = (settings: object): FxSource =>
  settingsWith({ fx: { sources: [{ id: 'a', ...settings }] } }).fx.sources[0] as FxSource

const readDocument = ({ settings }: RateProvider, document: unknown): ParsedRates =>
  parseRateDocument(
    parseKeepingDigits(JSON.stringify(document)),
    sourceOf({ kind: 'http-json', url: 'https://rates.example/', ...settings }),
    testNowMs,
  )

const textsOf = ({ rates }: ParsedRates): readonly string[] =>
  rates.map((rate) => {
    const sides = sidesOf(rate)
    return `${rate.base}/${rate.quote} ${rate.rate}${sides ? ` (${sides.bid} to ${sides.ask})` : ''}`
  })

type Parent = Record<string | number, unknown>
const changes: Readonly<Record<string, (parent: Parent, name: string | number) => void>> = {
  dropped: (parent, name) => {
    if (Array.isArray(parent)) parent.splice(Number(name), 1)
    else delete parent[name]
  },
  renamed: (parent, name) => {
    const { [name]: value } = parent
    if (Array.isArray(parent)) parent[Number(name)] = { renamed: value }
    else delete parent[name]
    if (!Array.isArray(parent)) parent[`${name}_v2`] = value
  },
  nulled: (parent, name) => {
    parent[name] = null
  },
}

function changed(document: unknown, path: readonly (string | number)[], change: keyof typeof changes): unknown {
  const copy = structuredClone(document)
  const parent = path.slice(0, -1).reduce<unknown>((node, name) => (node as Parent)[name], copy)
  changes[change]?.(parent as Parent, path.at(-1) as string)
  return copy
}

/** What is still read, and why the rest is not. */
function readOrRefuse(read: () => ParsedRates): {
  readonly rates: readonly string[]
  readonly reasons: readonly string[]
} {
  try {
    const parsed = read()
    return { rates: textsOf(parsed), reasons: parsed.rejected.map(({ about, reason }) => `${about}: ${reason}`) }
  } catch (error) {
    return { rates: [], reasons: [(error as Error).message] }
  }
}

/** A refusal names the pair or the path, and what is wrong with it. */
const named =
  /^(there is no list at "|the document has no Cube|[A-Z]{3}\/[A-Z]{3}: |\w+\/\w+: the pair is not two different currencies)/

describe('documents of providers', () => {
  for (const provider of rateProviders) {
    test(`${provider.name}: every pair is read, with the time of the document`, () => {
      const parsed = readDocument(provider, provider.document(testNowMs))
      assert.deepEqual([textsOf(parsed), parsed.rejected], [provider.rates, []])
      assert.deepEqual([...new Set(parsed.rates.map(({ atMs }) => atMs))], [testNowMs])
    })

    test(`${provider.name}: a field that is dropped, renamed or null is a refusal with a name, never a price`, () => {
      assert.match(provider.page, /^https:/)
      for (const path of provider.used) {
        for (const change of Object.keys(changes)) {
          const document = changed(provider.document(testNowMs), path, change)
          const { rates, reasons } = readOrRefuse(() => readDocument(provider, document))
          const about = `${path.join('.')} ${change}: ${reasons}`
          assert.ok(rates.length < provider.rates.length, `${about} still has ${rates}`)
          assert.ok(
            rates.every((rate) => provider.rates.includes(rate)),
            about,
          )
          assert.ok(reasons.length > 0 && reasons.every((reason) => named.test(reason)), about)
        }
      }
    })
  }

  test('ECB: every pair is read, and an attribute that is dropped, renamed or empty is a refusal', () => {
    const source = sourceOf({ kind: 'ecb', path: 'rates.xml' })
    const text = ecbDocument('2026-11-13')
    const read = (document: string) => readOrRefuse(() => parseEcbDocument(document, source, testNowMs))
    assert.deepEqual(read(text), { rates: ['EUR/USD 1.0842', 'EUR/JPY 164.12'], reasons: [] })
    for (const attribute of ["time='2026-11-13'", "currency='USD'", "rate='1.0842'"]) {
      const name = attribute.split('=')[0] as string
      for (const other of ['', attribute.replace(name, `${name}V2`), `${name}=''`]) {
        const { rates, reasons } = read(text.replace(attribute, other))
        assert.ok(!rates.includes('EUR/USD 1.0842'), `${attribute} → ${other}`)
        assert.ok(reasons.length > 0 && reasons.every((reason) => named.test(reason) || /^EUR\//.test(reason)), other)
      }
    }
  })

  test('an entry of Open Exchange Rates without bid and ask, which it documents, is refused', () => {
    const provider = rateProviders.find(({ name }) => name === 'Open Exchange Rates') as RateProvider
    const document = { timestamp: testNowMs / 1000, base: 'USD', rates: { JPY: { mid: 151.37 } } }
    assert.deepEqual(
      readOrRefuse(() => readDocument(provider, document)),
      {
        rates: [],
        reasons: ['USD/JPY: the bid is missing; check document.bid'],
      },
    )
  })
})
