// HTTP behaviour that all endpoints share (behaviour/http.md#query-parameters).
import { contract } from '#api/contract/contract.ts'
import { allRoutes, type EndpointId, type Route } from '#api/contract/routes.ts'
import { type Checks, expect, expectFailure, expectNoProblems, expectReply, expectSame, Skipped } from '../check.ts'
import { slugOf, validatorsOf } from '../samples.ts'
import type { ServerUnderTest } from '../server-under-test.ts'

type Call = readonly [EndpointId, Readonly<Record<string, unknown>>]

/** Successful calls: one for every GET endpoint that has sample data. */
async function sampleCalls(server: ServerUnderTest): Promise<readonly Call[]> {
  const validators = await unlessSkipped(async (): Promise<Call[]> => {
    const [index] = await validatorsOf(server)
    return [
      ['validators.metadata', { validator_index_or_pubkey: index }],
      ['validators.effectiveness', { validator_index_or_pubkey: index, limit: 1 }],
      ['validators.aggregateEffectiveness', { indices: [index], size: 1 }],
    ]
  })
  const markets = await unlessSkipped(async (): Promise<Call[]> => [['markets.bySlug', { slug: await slugOf(server) }]])
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
/** Fills the path parameters of calls that fail before data is read. */
const pathInput = { validator_index_or_pubkey: 0, slug: 'x', address: `0x${'00'.repeat(20)}` }

export const httpChecks: Checks = {
  'http.request-id': {
    rule: 'behaviour/http.md#response-headers',
    requirement: 'every response has a unique x-request-id; an id sent by the caller is returned',
    async run(server) {
      const seen = new Set<string>()
      for (const [id, input] of await sampleCalls(server)) {
        const { headers } = await server.call(id, input)
        const given = headers.get('x-request-id') ?? ''
        expect(given !== '' && !seen.has(given), `${id}: x-request-id is "${given}"`)
        seen.add(given)
        const response = await server.call(id, input, { headers: { 'x-request-id': 'conformance/1~a' } })
        expect(
          response.headers.get('x-request-id') === 'conformance/1~a',
          `${id}: the caller’s x-request-id is not returned`,
        )
      }
    },
  },
  'http.head': {
    rule: 'behaviour/http.md#query-parameters',
    requirement: 'HEAD returns what GET returns, without a body',
    async run(server) {
      for (const [id, input] of await sampleCalls(server)) {
        const get = await server.call(id, input)
        const head = await server.call(id, input, { method: 'HEAD' })
        expect(head.status === get.status && head.text === '', `${id}: HEAD returns ${head.status}, GET ${get.status}`)
        for (const name of ['content-type', 'content-length', 'etag'])
          expectSame(head.headers.get(name), get.headers.get(name), `${id}: ${name} of HEAD differs from that of GET`)
      }
    },
  },
  'http.cors': {
    rule: 'behaviour/http.md#query-parameters',
    requirement: 'pages of other origins may call every endpoint and send a key',
    async run(server) {
      const origin = { origin: 'https://elsewhere.test' }
      for (const [id, input] of await sampleCalls(server)) {
        const { headers } = await server.call(id, input, { headers: origin })
        const allowed = headers.get('access-control-allow-origin')
        expect(allowed === '*' || allowed === origin.origin, `${id}: access-control-allow-origin is ${allowed}`)
        const preflight = {
          ...origin,
          'access-control-request-method': 'GET',
          'access-control-request-headers': 'authorization',
        }
        const before = await server.call(id, input, { method: 'OPTIONS', headers: preflight, key: null })
        expect(before.status >= 200 && before.status < 300, `${id}: OPTIONS returns ${before.status}`)
        const names = (before.headers.get('access-control-allow-headers') ?? '').toLowerCase()
        expect(
          names.includes('authorization') || names === '*',
          `${id}: access-control-allow-headers does not include authorization`,
        )
      }
    },
  },
  'http.method': {
    rule: 'behaviour/http.md#query-parameters',
    requirement: 'an unsupported method returns 405 and an allow header',
    async run(server) {
      for (const id of ids) {
        const { status, headers } = await server.call(id, pathInput, { method: 'DELETE' })
        expect(status === 405, `${id}: DELETE returns ${status}`)
        const allow = headers.get('allow') ?? ''
        expect(allow.includes(contract[id].method), `${id}: allow is "${allow}"`)
      }
    },
  },
  'http.unknown-path': {
    rule: 'behaviour/http.md#query-parameters',
    requirement: 'an unknown path returns 404',
    async run(server) {
      for (const id of ids) {
        const url = `${server.baseOf(id)}/no-such-path-${id.replaceAll('.', '-')}`
        const { status } = await server.follow(url)
        expect(status === 404, `${id}: an unknown path returns ${status}`)
      }
    },
  },
  'http.unknown-parameter': {
    rule: 'behaviour/http.md#unknown-names',
    requirement: 'lookups of one record ignore an unknown query parameter; selections refuse it or return the same',
    async run(server) {
      for (const [id, input] of await sampleCalls(server)) {
        const plain = await server.call(id, input)
        expectReply(id, plain)
        const more = await server.call(id, input, { query: 'surprise=1&__proto__=2' })
        if (more.status !== plain.status && mayRefuse(allRoutes[id])) {
          expect(more.status === 400 || more.status === 422, `${id}: an unknown parameter returns ${more.status}`)
          expect(more.text.includes('surprise'), `${id}: the error does not name the parameter`)
          continue
        }
        expect(more.status === plain.status, `${id}: ${more.status} instead of ${plain.status}`)
        expectSame(withoutLinks(more.body), withoutLinks(plain.body), `${id}: the response differs`)
      }
    },
  },
  'http.key-not-leaked': {
    rule: 'behaviour/http.md#invalid-keys',
    requirement: 'a response never contains a key, valid or not',
    async run(server) {
      const bad = `tetrad:conformance:${'k'.repeat(43)}`
      const responses = [
        await server.call('explorer.labelListV1', {}, { key: bad }),
        await server.call('explorer.fundedBy', { address: 'nonsense' }),
        await server.call('validators.metadata', { validator_index_or_pubkey: 'nonsense' }),
      ]
      for (const { text, headers } of responses) {
        const all = `${text}\n${[...headers].join('\n')}`
        const isLeaked = [bad, server.options.key].some(
          (key) => all.includes(key) || all.includes(encodeURIComponent(key)),
        )
        expect(!isLeaked, 'a response contains the key')
      }
      expectFailure('explorer.labelListV1', responses[0] as (typeof responses)[number], 'key.invalid')
    },
  },
  'http.confidence': {
    rule: 'behaviour/http.md#response-headers',
    requirement: 'x-tetrad-finality and x-tetrad-coverage, if present, have valid values',
    async run(server) {
      const problems: string[] = []
      for (const [id, input] of await sampleCalls(server)) {
        const response = await server.call(id, input)
        expectReply(id, response)
        const { headers } = response
        const finality = headers.get('x-tetrad-finality')
        if (finality !== null && !/^(finalized|head)$/.test(finality)) problems.push(`${id}: finality is "${finality}"`)
        const coverage = headers.get('x-tetrad-coverage')
        if (coverage === '') problems.push(`${id}: coverage is empty`)
      }
      expectNoProblems(problems)
    },
  },
}

/** The explorer ignores unknown names, and so do lookups of one record. */
const mayRefuse = ({ group, lookup }: Route): boolean => group !== 'explorer' && !lookup

/** `next` and `previous` may contain the query. */
function withoutLinks(body: unknown): unknown {
  if (typeof body !== 'object' || body === null) return body
  const { next: _next, previous: _previous, ...rest } = body as Record<string, unknown>
  return rest
}
