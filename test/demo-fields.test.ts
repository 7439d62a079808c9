// A visitor of the demo can see every field of the specification. Each field of the contract must have a value in the reply
// to one of these calls, so a new field fails this test until a call shows it. docs/try.md describes the calls.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { contract } from '#api/contract/contract.ts'
import { toRequest } from '#api/contract/request.ts'
import type { EndpointId } from '#api/contract/routes.ts'
import { polygonSample } from '#simulator/explorer.ts'
import { type DemoServer, openDemoServer } from './demo-server.ts'
import { inject } from './inject.ts'

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
}

/** Names of all fields, such as `markets.bySlug.events.series.title`. */
function fieldsOf({ properties = {}, items, anyOf = [] }: Schema, prefix: string): string[] {
  const members = Object.entries(properties).flatMap(([name, schema]) => [
    `${prefix}.${name}`,
    ...fieldsOf(schema, `${prefix}.${name}`),
  ])
  return [...members, ...(items ? fieldsOf(items, prefix) : []), ...anyOf.flatMap((each) => fieldsOf(each, prefix))]
}

/** The same of a reply. A field that is null or an empty list has no value. */
function shownFields(value: unknown, prefix: string): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => shownFields(item, prefix))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) =>
    member === null || (Array.isArray(member) && member.length === 0)
      ? []
      : [`${prefix}.${name}`, ...shownFields(member, `${prefix}.${name}`)],
  )
}

let demo: DemoServer
before(async () => {
  demo = await openDemoServer()
})
after(() => demo[Symbol.asyncDispose]())

async function call(id: EndpointId, input: object): Promise<unknown> {
  const { url, method, headers, body } = toRequest(id, demo.url, { ...input }, demo.key)
  const path = url.slice(demo.url.length)
  const response = await inject(demo.server, {
    ...{ url: path, headers: { ...headers } },
    ...(method === 'POST' && { method: 'POST' as const, payload: body ?? '' }),
  })
  assert.equal(response.statusCode, 200, `${path}: ${response.body}`)
  assert.notEqual(response.json().status, '0', `${path}: ${response.body}`)
  return response.json()
}

test('every field of the specification has a value in one of the calls', async () => {
  const { indices, address, slug } = demo.samples
  const validator_index_or_pubkey = indices[0]
  const quote = contract['fx.createQuote'].example.input
  const closed = (await inject(demo.server, '/markets?closed=true&limit=100')).json() as { slug: string }[]
  const open = (await inject(demo.server, '/markets?limit=100')).json() as { slug: string }[]
  const calls: readonly (readonly [name: string, id: EndpointId, input: object])[] = [
    ['labels', 'explorer.labelListV2', { chainid: '1' }],
    ['labels, version 1', 'explorer.labelListV1', {}],
    ['first funding', 'explorer.fundedBy', { chainid: '1', address }],
    ['first funding on chain 137', 'explorer.fundedBy', polygonSample],
    ['quote', 'fx.createQuote', quote],
    ['quote with collateral', 'fx.createQuote', { ...quote, tenor: 'daily' }],
    ['aggregated by validator', 'validators.aggregateEffectiveness', { indices, groupBy: 'validator', size: 50 }],
    ['days of a validator', 'validators.effectiveness', { validator_index_or_pubkey, limit: 50 }],
    ['second page', 'validators.effectiveness', { validator_index_or_pubkey, limit: 1, offset: 1 }],
    ['hours of a validator', 'validators.effectiveness', { validator_index_or_pubkey, granularity: 'hour', limit: 2 }],
    // Validator 60 is run by several operators together.
    ...[...indices, 60].map(
      (index) => [`validator ${index}`, 'validators.metadata', { validator_index_or_pubkey: index }] as const,
    ),
    ['market', 'markets.bySlug', { slug }],
    ...[...closed, ...open].map(
      (market) => [`market ${market.slug}`, 'markets.bySlug', { slug: market.slug }] as const,
    ),
  ]
  /** Which call shows a field first. */
  const shownBy = new Map<string, string>()
  for (const [name, id, input] of calls)
    for (const field of shownFields(await call(id, input), id)) if (!shownBy.has(field)) shownBy.set(field, name)
  const fields = Object.values(contract).flatMap(({ id, reply }) => fieldsOf(reply as unknown as Schema, id))
  assert.ok(fields.length > 500, String(fields.length))
  assert.deepEqual(
    fields.filter((field) => !shownBy.has(field)),
    [],
  )
  assert.equal(shownBy.get('fx.createQuote.collateral'), 'quote with collateral')
  assert.match(shownBy.get('markets.bySlug.resolvedBy') ?? '', /^market will-/)
  const guide = await readFile(new URL('../docs/try.md', import.meta.url), 'utf8')
  assert.ok(guide.includes(polygonSample.address), 'the guide names the address')
})
