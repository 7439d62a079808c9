// Compares the contract with the specification's rows in both directions: every row is in the contract with its type,
// and every field and parameter of the contract is a row or a listed addition.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { contract } from '#api/contract/contract.ts'
import { type Endpoint, isRequired, type TSchema } from '#api/contract/kit.ts'
import { inputLocation } from '#api/contract/routes.ts'
import * as explorer from '#api/contract/wire/explorer.ts'
import * as fx from '#api/contract/wire/fx.ts'
import * as markets from '#api/contract/wire/markets.ts'
import * as validators from '#api/contract/wire/validators.ts'
import * as metadata from '#api/contract/wire/validators-metadata.ts'
import { additions, fieldRows, nullableFields, type ParameterRow, parameterRows, routeRows } from './spec-rows.ts'

interface Schema {
  readonly examples?: readonly string[]
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly enum?: readonly string[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly default?: unknown
}

/** Records without a table in section 2. */
const unspecifiedRecords = new Set([
  'ExplorerFailure',
  'FxFailure',
  'ValidatorsFailure',
  'MarketsFailure',
  'AmountInput',
])

const records = new Map<string, Schema>()
for (const [name, value] of Object.entries({ ...explorer, ...fx, ...validators, ...metadata, ...markets })) {
  if (typeof value === 'object' && value !== null && 'properties' in value)
    records.set(name, value as unknown as Schema)
}
for (const id of ['explorer.labelListV2', 'explorer.labelListV1', 'explorer.fundedBy'] as const) {
  records.set(`Envelope of ${id}`, contract[id].reply as unknown as Schema)
}

/** `SeriesOfEvent` is a Series without the field that would close a cycle (behaviour/markets.md#references). */
const fullRecord = (name: string): string => name.replace(/Of(Event|Series)$/, '')

/** The type of a schema as the rows write it. */
function typeText(schema: Schema): string {
  const types = [schema.type ?? 'any'].flat()
  const plain = types.filter((type) => type !== 'null')
  const suffix = types.length > plain.length ? ' or null' : ''
  if (plain[0] === 'array') return `array of ${typeText(schema.items ?? {})}${suffix}`
  if (plain[0] === 'string')
    return `${{ 'date-time': 'date-time', uuid: 'uuid', date: 'date' }[schema.format ?? ''] ?? 'string'}${suffix}`
  if (plain[0] !== 'object') return `${plain.join('|')}${suffix}`
  for (const [name, record] of records)
    if (record.properties === schema.properties) return `${fullRecord(name)}${suffix}`
  return `{${Object.entries(schema.properties ?? {})
    .map(([name, member]) => `${name}: ${typeText(member)}`)
    .join(', ')}}${suffix}`
}

/** Every field of a record, including those of unnamed nested records. */
function flatten(schema: Schema, before = ''): [string, Schema][] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, member]) =>
    member.type === 'object' && typeText(member).startsWith('{')
      ? flatten(member, `${before}${name}.`)
      : [[`${before}${name}`, member] as [string, Schema]],
  )
}

const fieldsOf = (record: string): Map<string, Schema> => {
  const schema = records.get(record)
  assert.ok(schema, `the contract has no record ${record}`)
  return new Map(flatten(schema))
}

/** The three envelopes share one row; their `result` differs. */
const contractNames = (record: string): string[] =>
  record === 'Envelope' ? [...records.keys()].filter((name) => name.startsWith('Envelope of ')) : [record]

const matchesType = (row: { record: string; type: string }, actual: string): boolean =>
  row.type === 'varies' ||
  row.type === actual ||
  (row.type === 'array' && actual.startsWith('array of ')) ||
  (row.record in nullableFields && `${row.type} or null` === actual)

describe('records, spec section 2', () => {
  test('every field of the specification is in the contract with its type', () => {
    assert.equal(fieldRows.length, new Set(fieldRows.map(({ record, field }) => `${record}.${field}`)).size)
    for (const row of fieldRows) {
      for (const name of contractNames(row.record)) {
        const schema = fieldsOf(name).get(row.field)
        assert.ok(schema, `${name}.${row.field} is missing`)
        assert.ok(
          matchesType(row, typeText(schema)),
          `${name}.${row.field}: ${typeText(schema)}, specified ${row.type}`,
        )
      }
    }
  })

  test('every field of the contract is in the specification or a listed addition', () => {
    const known = new Set(fieldRows.map(({ record, field }) => `${record}.${field}`))
    for (const record of records.keys()) {
      if (unspecifiedRecords.has(record)) continue
      for (const field of fieldsOf(record).keys()) {
        const name = `${fullRecord(record.replace(/^Envelope of .*/, 'Envelope'))}.${field}`
        assert.ok(known.has(name) || name in additions, `${name} is neither specified nor a listed addition`)
      }
    }
  })

  test('the result of the envelope is the label list, the link or the funding record', () => {
    const result = (id: 'explorer.labelListV2' | 'explorer.labelListV1' | 'explorer.fundedBy') =>
      contract[id].reply.properties.result as unknown as Schema & { anyOf?: Schema[] }
    assert.deepEqual(result('explorer.labelListV2').anyOf?.map(typeText), ['string', 'array of LabelRecord'])
    assert.equal(typeText(result('explorer.labelListV1')), 'array of LabelRecord')
    assert.equal(typeText(result('explorer.fundedBy')), 'FundingRecord')
  })

  test('fields of pages, metadata, labels and fundings are required', () => {
    for (const name of [
      'AggregatePage',
      'EffectivenessPage',
      'ValidatorMetadata',
      'LabelRecord',
      'FundingRecord',
      'Page',
    ]) {
      const { required = [], properties = {} } = records.get(name) as Schema
      assert.deepEqual([...required].sort(), Object.keys(properties).sort(), name)
    }
    const quote = records.get('Quote') as Schema
    const optional = Object.keys(quote.properties ?? {}).filter((name) => !quote.required?.includes(name))
    assert.deepEqual(optional, ['collateral', 'typedData'])
    for (const name of ['fee', 'collateral']) {
      const { pattern } = (quote.properties?.[name] ?? {}) as { pattern?: string }
      assert.equal(pattern, '^\\d+(?:\\.\\d{1,6})?$', name)
    }
  })

  test('`include` accepts exactly the names of the aggregated record, and the index', () => {
    const { include } = contract['validators.aggregateEffectiveness'].input.properties
    const named = fieldRows.filter(({ record }) => record === 'AggregateRecord').map(({ field }) => field)
    assert.deepEqual(
      [...((include as unknown as Schema).items?.enum ?? [])].sort(),
      ['validatorIndex', ...named].sort(),
    )
  })
})

/** The parameters of an endpoint as rows, including the key and the fixed parameters of its route. */
function parametersOf(endpoint: Endpoint): ParameterRow[] {
  const { spec, auth, selectedBy, input } = endpoint
  const rows: ParameterRow[] = []
  if (auth === 'apikey') rows.push({ spec, name: 'apikey', in: 'query', type: 'string', required: 'yes' })
  if (auth === 'bearer') rows.push({ spec, name: 'authorization', in: 'header', type: 'string', required: 'yes' })
  for (const [name, value] of Object.entries(selectedBy ?? {})) {
    rows.push({ spec, name, in: 'query', type: 'string', required: 'yes', default: value })
  }
  for (const [name, schema] of Object.entries(input.properties as Record<string, TSchema>)) {
    const { default: preset, examples, enum: values = examples } = schema as unknown as Schema
    rows.push({
      spec,
      name: endpoint.headers?.[name] ?? name,
      in: inputLocation(endpoint, name),
      type: typeText(schema as unknown as Schema),
      required: isRequired(endpoint, name) ? 'yes' : 'no',
      ...(preset !== undefined && { default: preset as string }),
      ...(values && { values }),
    })
  }
  return rows
}

/** The specification lists no values; the contract lists the numeric fields. */
const listedByContract = new Set(['4.6 sortBy'])

describe('endpoints, spec section 4', () => {
  const all: readonly Endpoint[] = Object.values(contract)
  const parameters = all.flatMap(parametersOf)
  const key = ({ spec, name }: ParameterRow) => `${spec} ${name}`

  for (const row of parameterRows) {
    test(`${key(row)}: location, type, default and values are as specified`, () => {
      const found = parameters.find((candidate) => key(candidate) === key(row))
      assert.ok(found, 'missing in the contract')
      assert.equal(found.in, row.in)
      assert.equal(found.type, row.type === 'integer or time' ? 'string' : row.type)
      assert.equal(found.default, row.default)
      if (!listedByContract.has(key(row))) assert.deepEqual(found.values, row.values)
      if (row.required !== 'maybe') assert.equal(found.required, row.required)
    })
  }

  test('every parameter of the contract is in the specification or a listed addition', () => {
    const known = new Set(parameterRows.map(key))
    const extra = parameters.map(key).filter((name) => !known.has(name))
    assert.deepEqual(
      extra.sort(),
      Object.keys(additions)
        .filter((name) => /^\d/.test(name))
        .sort(),
    )
  })

  test('method, path, plan and rate limit are as specified', () => {
    assert.equal(all.length, routeRows.length)
    for (const row of routeRows) {
      const endpoint = all.find(({ spec }) => spec === row.spec)
      assert.ok(endpoint, row.spec)
      const { method, path, plan, perSecond } = endpoint
      assert.deepEqual(
        { method, path, plan, perSecond },
        {
          method: row.method,
          path: row.path,
          plan: 'plan' in row ? row.plan : 'free',
          perSecond: 'perSecond' in row ? row.perSecond : undefined,
        },
      )
    }
  })
})
