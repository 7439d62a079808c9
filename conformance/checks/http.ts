// What holds for every path, whichever group it belongs to (behaviour/http.md#query-parameters).
import { contract } from '#api/contract.ts'
import type { EndpointId } from '#api/routes.ts'
import { type Check, expect, expectNoProblems, expectReply, refusal, Skipped, same } from '../check.ts'
import { slugOf, validatorsOf } from '../samples.ts'
import type { ServerUnderTest } from '../server-under-test.ts'

type Call = readonly [EndpointId, Readonly<Record<string, unknown>>]

/** Calls that work, one for every GET endpoint there is data for. */
async function reads(site: ServerUnderTest): Promise<readonly Call[]> {
  const validators = await unlessSkipped(async (): Promise<Call[]> => {
    const [index] = await validatorsOf(site)
    return [
      ['validators.metadata', { validator_index_or_pubkey: index }],
      ['validators.effectiveness', { validator_index_or_pubkey: index, limit: 1 }],
      ['validators.aggregateEffectiveness', { indices: [index], size: 1 }],
    ]
  })
  const markets = await unlessSkipped(async (): Promise<Call[]> => [['markets.bySlug', { slug: await slugOf(site) }]])
  return [['explorer.labelListV1', {}], ...validators, ...markets]
}

async function unlessSkipped(find: () => Promise<Call[]>): Promise<Call[]> {
  try {
    return await find()
  } catch (error) {
    if (error instanceof Skipped) return []
    throw error
  }
}

const ids = Object.keys(contract) as EndpointId[]
/** An input that fills the path, for calls that never get as far as the data. */
const filler = { validator_index_or_pubkey: 0, slug: 'x', address: `0x${'00'.repeat(20)}` }

export const httpChecks: readonly Check[] = [
  {
    id: 'house.request-id',
    rule: 'behaviour/http.md#response-headers',
    requirement: 'every reply carries x-request-id; the caller’s own is kept, others never repeat',
    async run(site) {
      const seen = new Set<string>()
      for (const [id, input] of await reads(site)) {
        const { headers } = await site.call(id, input)
        const given = headers.get('x-request-id') ?? ''
        expect(given !== '' && !seen.has(given), `${id}: x-request-id is "${given}"`)
        seen.add(given)
        const own = await site.call(id, input, { headers: { 'x-request-id': 'conform/1~a' } })
        expect(own.headers.get('x-request-id') === 'conform/1~a', `${id}: the caller’s x-request-id is not kept`)
      }
    },
  },
  {
    id: 'house.head',
    rule: 'behaviour/http.md#query-parameters',
    requirement: 'HEAD answers as GET does, without a body',
    async run(site) {
      for (const [id, input] of await reads(site)) {
        const get = await site.call(id, input)
        const head = await site.call(id, input, { method: 'HEAD' })
        expect(head.status === get.status && head.text === '', `${id}: HEAD gives ${head.status}, GET ${get.status}`)
        for (const name of ['content-type', 'content-length', 'etag'])
          same(head.headers.get(name), get.headers.get(name), `${id}: ${name} of HEAD differs from that of GET`)
      }
    },
  },
  {
    id: 'house.cors',
    rule: 'behaviour/http.md#query-parameters',
    requirement: 'pages of other origins may read, and are told so before they send a key',
    async run(site) {
      const origin = { origin: 'https://elsewhere.test' }
      for (const [id, input] of await reads(site)) {
        const { headers } = await site.call(id, input, { headers: origin })
        const allowed = headers.get('access-control-allow-origin')
        expect(allowed === '*' || allowed === origin.origin, `${id}: access-control-allow-origin is ${allowed}`)
        const asked = {
          ...origin,
          'access-control-request-method': 'GET',
          'access-control-request-headers': 'authorization',
        }
        const before = await site.call(id, input, { method: 'OPTIONS', headers: asked, key: null })
        expect(before.status >= 200 && before.status < 300, `${id}: OPTIONS gives ${before.status}`)
        const names = (before.headers.get('access-control-allow-headers') ?? '').toLowerCase()
        expect(names.includes('authorization') || names === '*', `${id}: a page may not send authorization`)
      }
    },
  },
  {
    id: 'house.method',
    rule: 'behaviour/http.md#query-parameters',
    requirement: 'a method that a path does not answer is a 405 that names those it does',
    async run(site) {
      for (const id of ids) {
        const { status, headers } = await site.call(id, filler, { method: 'DELETE' })
        expect(status === 405, `${id}: DELETE gives ${status}`)
        const allow = headers.get('allow') ?? ''
        expect(allow.includes(contract[id].method), `${id}: allow is "${allow}"`)
      }
    },
  },
  {
    id: 'house.unknown-path',
    rule: 'behaviour/http.md#query-parameters',
    requirement: 'a path that is not there is a 404',
    async run(site) {
      for (const id of ids) {
        const url = `${site.baseOf(id)}/no-such-path-${id.replaceAll('.', '-')}`
        const { status } = await site.follow(url)
        expect(status === 404, `${id}: an unknown path gives ${status}`)
      }
    },
  },
  {
    id: 'house.unknown-parameter',
    rule: 'behaviour/http.md#query-parameters',
    requirement: 'query parameters that nobody knows change nothing',
    async run(site) {
      for (const [id, input] of await reads(site)) {
        const plain = await site.call(id, input)
        expectReply(id, plain)
        const more = await site.call(id, input, { query: 'surprise=1&__proto__=2' })
        expect(more.status === plain.status, `${id}: ${more.status} instead of ${plain.status}`)
        same(withoutLinks(more.body), withoutLinks(plain.body), `${id}: the reply differs`)
      }
    },
  },
  {
    id: 'house.key-unsaid',
    rule: 'behaviour/http.md#invalid-keys',
    requirement: 'a reply never repeats a key, neither a good one nor a bad one',
    async run(site) {
      const bad = `tetrad:conform:${'k'.repeat(43)}`
      const answers = [
        await site.call('explorer.labelListV1', {}, { key: bad }),
        await site.call('explorer.fundedBy', { address: 'nonsense' }),
        await site.call('validators.metadata', { validator_index_or_pubkey: 'nonsense' }),
      ]
      for (const { text, headers } of answers) {
        const all = `${text}\n${[...headers].join('\n')}`
        const isSaid = [bad, site.options.key].some((key) => all.includes(key) || all.includes(encodeURIComponent(key)))
        expect(!isSaid, 'a reply repeats the key')
      }
      refusal('explorer.labelListV1', answers[0] as (typeof answers)[number], 'key.invalid')
    },
  },
  {
    id: 'house.confidence',
    rule: 'behaviour/http.md#response-headers',
    requirement: 'where an answer says how sure it is, it says so in the agreed words',
    async run(site) {
      const problems: string[] = []
      for (const [id, input] of await reads(site)) {
        const answered = await site.call(id, input)
        expectReply(id, answered)
        const { headers } = answered
        const finality = headers.get('x-tetrad-finality')
        if (finality !== null && !/^(finalized|head)$/.test(finality)) problems.push(`${id}: finality is "${finality}"`)
        const coverage = headers.get('x-tetrad-coverage')
        if (coverage === '') problems.push(`${id}: coverage is empty`)
      }
      expectNoProblems(problems)
    },
  },
]

/** `next` and `previous` may carry what was asked. */
function withoutLinks(body: unknown): unknown {
  if (typeof body !== 'object' || body === null) return body
  const { next: _next, previous: _previous, ...rest } = body as Record<string, unknown>
  return rest
}
