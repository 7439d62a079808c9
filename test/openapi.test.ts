import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { toGroupError } from '#api/client/errors.ts'
import { contract } from '#api/contract/contract.ts'
import { extensions } from '#api/contract/extensions.ts'
import { failureExample, failuresOf } from '#api/contract/failures.ts'
import { commonFaults, type FaultCode, faults, keyFaults } from '#api/contract/faults.ts'
import { type Endpoint, isOtherSpelling } from '#api/contract/kit.ts'
import { openapi } from '#api/contract/openapi.ts'
import { type EndpointId, groups, inputLocation, routes } from '#api/contract/routes.ts'
import { ExplorerFailure } from '#api/contract/wire/explorer.ts'
import { FxFailure } from '#api/contract/wire/fx.ts'
import { MarketsFailure } from '#api/contract/wire/markets.ts'
import { ValidatorsFailure } from '#api/contract/wire/validators.ts'
import { checker } from '#core/schema-check.ts'

/** Rules of the recommended set that are switched off, each with its reason. */
const switchedOff: Record<string, 'off'> = {
  // `/markets/slug/tags` matches `/markets/slug/{slug}` and `/markets/{id}/tags`. The fixed segment that comes first wins.
  'no-ambiguous-paths': 'off',
}

const lint = async (document: object): Promise<string[]> => {
  const config = await createConfig({ extends: ['recommended'], rules: switchedOff })
  const problems = await lintFromString({ source: JSON.stringify(document), config, absoluteRef: 'openapi.json' })
  return problems.map(({ severity, ruleId, message }) => `${severity} ${ruleId}: ${message}`)
}

interface Operation {
  readonly operationId: string
  readonly parameters: { name: string; in: string; required: boolean; description?: string; schema: object }[]
  readonly description: string
  readonly requestBody?: {
    content: Record<'application/json' | 'application/x-www-form-urlencoded', { schema: { properties: object } }>
  }
  readonly responses: Record<string, { content?: { 'application/json': { examples: Record<string, unknown> } } }>
}

const all = [...Object.values(contract), ...Object.values(extensions)] as Endpoint[]
const failureSchemas = {
  explorer: ExplorerFailure,
  fx: FxFailure,
  validators: ValidatorsFailure,
  markets: MarketsFailure,
}

const operationOf = (endpoint: Endpoint): Operation => {
  const methods = openapi().paths[endpoint.path] as Record<string, Operation>
  const operation = methods[endpoint.method.toLowerCase()]
  assert.ok(operation, endpoint.id)
  return operation
}

describe('the document', () => {
  test('the linter reports no errors and no warnings', async () => assert.deepEqual(await lint(openapi()), []))

  test('the linter reports an example that does not match its schema', async () => {
    const document = openapi()
    const { path } = contract['explorer.fundedBy']
    const text = JSON.stringify({ ...document, paths: { [path]: document.paths[path] } })
    const broken = text.replaceAll(/"block":\d+/g, '"block":"many"')
    assert.notEqual(broken, text)
    assert.match((await lint(JSON.parse(broken))).join('\n'), /no-invalid-media-type-examples/)
  })

  test('schemas are referenced, so the document stays below 13 kB per endpoint', () => {
    const text = JSON.stringify(openapi())
    assert.equal(text.split('"imageUrlOptimized"').length - 1, 1)
    assert.ok(text.length < 13_000 * all.length, String(text.length))
  })

  test('every field of every request and response has a description', () => {
    const document = openapi()
    assert.deepEqual(undescribedFields(document, '#'), [])
    const broken = JSON.parse(JSON.stringify(document))
    delete broken.components.schemas.FundingRecord.properties.block.description
    assert.deepEqual(undescribedFields(broken, '#'), ['#.components.schemas.FundingRecord.block'])
  })

  test('chainid is required at the path of 4.1 and 4.3, as in the specification', () => {
    const parameters = operationOf(contract['explorer.fundedBy']).parameters
    assert.equal(parameters.find(({ name }) => name === 'chainid')?.required, true)
  })

  test('the document has the given server URL', () => {
    assert.deepEqual(openapi({ serverUrl: 'https://data.house.net' }).servers, [{ url: 'https://data.house.net' }])
  })
})

/** Paths of the members of schemas that have no description. Examples are data, not schemas. */
function undescribedFields(node: unknown, path: string): string[] {
  if (typeof node !== 'object' || node === null) return []
  return Object.entries(node).flatMap(([name, value]) => {
    if (name === 'example' || name === 'examples') return []
    if (name !== 'properties') return undescribedFields(value, `${path}.${name}`)
    return Object.entries(value as Record<string, { description?: string }>).flatMap(([member, schema]) => [
      ...(schema.description ? [] : [`${path}.${member}`]),
      ...undescribedFields(schema, `${path}.${member}`),
    ])
  })
}

for (const endpoint of all) {
  describe(endpoint.id, () => {
    const operation = operationOf(endpoint)

    test('every input is present with its location and a description', () => {
      for (const [name, schema] of Object.entries(endpoint.input.properties)) {
        assert.ok('description' in (schema as object), `${name} has no description`)
        const location = inputLocation(endpoint, name)
        if (location === 'body') {
          const body = operation.requestBody?.content['application/json'].schema.properties ?? {}
          assert.ok(name in body, name)
        } else {
          const wireName = endpoint.headers?.[name] ?? name
          const found = operation.parameters.find((one) => one.name === wireName && one.in === location)
          if (isOtherSpelling(schema as object)) {
            assert.equal(found, undefined, name)
            continue
          }
          assert.ok(found?.description, name)
          assert.equal('default' in found.schema, 'default' in (schema as object), name)
        }
      }
    })

    test('every fault it can raise has an example under its status', () => {
      const keyed = endpoint.plan === 'free' ? keyFaults.filter((code) => code !== 'plan.too_low') : keyFaults
      // The explorer ignores unknown names.
      const common = commonFaults.filter((code) => code !== 'input.unknown' || endpoint.group !== 'explorer')
      for (const code of [...common, ...keyed, ...endpoint.faults]) {
        const { status } = failureExample(endpoint, code)
        const examples = operation.responses[status]?.content?.['application/json'].examples ?? {}
        assert.ok(code in examples, `${code} under ${status}`)
      }
    })

    test('input and reply of its example match the contract', () => {
      assert.deepEqual(checker(endpoint.input)(structuredClone(endpoint.example.input)), [])
      assert.deepEqual(checker(endpoint.reply)(structuredClone(endpoint.example.reply)), [])
      if (endpoint.stream) return
      const examples = operation.responses[200]?.content?.['application/json'].examples ?? {}
      assert.ok(endpoint.id in examples)
    })
  })
}

test('endpoints with the same path and method are one operation that describes all of them', () => {
  const operation = operationOf(contract['explorer.fundedBy'])
  assert.equal(operation.operationId, 'explorer.api')
  for (const id of ['explorer.labelListV2', 'explorer.fundedBy'] as const) {
    const { module, action } = contract[id].selectedBy ?? assert.fail(id)
    assert.ok(operation.description.includes(`GET /v2/api?module=${module}&action=${action}&chainid=1`), id)
  }
  const address = operation.parameters.find(({ name }) => name === 'address')
  assert.equal(address?.required, false)
})

test('endpoints with the key in the query also accept a form, with the same parameters and the key', () => {
  for (const endpoint of all.filter(({ auth }) => auth === 'apikey')) {
    const { post } = openapi().paths[endpoint.path] as Record<'post', Operation>
    const { schema } = post.requestBody?.content['application/x-www-form-urlencoded'] ?? assert.fail(endpoint.id)
    const names = operationOf(endpoint).parameters.map(({ name }) => name)
    assert.deepEqual(Object.keys(schema.properties).sort(), ['apikey', ...names].sort())
  }
})

test('no two parameters of an operation have names that generators make one of, and no two values', () => {
  const same = (name: string) => name.replaceAll(/[^A-Za-z0-9]/g, '').toLowerCase()
  for (const endpoint of all) {
    const { parameters } = operationOf(endpoint)
    assert.equal(new Set(parameters.map(({ name }) => same(name))).size, parameters.length, endpoint.id)
    for (const { name, schema } of parameters) {
      const { enum: values = [] } = schema as { enum?: string[] }
      assert.equal(new Set(values.map(same)).size, values.length, `${endpoint.id} ${name}`)
    }
  }
})

describe('failures', () => {
  const groupRoutes = Object.entries(routes) as [EndpointId, Endpoint][]
  for (const group of groups) {
    const [endpoint, route] = groupRoutes.findLast(([, { group: candidate }]) => candidate === group) as [
      EndpointId,
      Endpoint,
    ]

    test(`${group}: the examples match the group's failure schema`, () => {
      for (const code of Object.keys(faults) as FaultCode[]) {
        const { body } = failureExample(route, code)
        assert.deepEqual(checker(failureSchemas[group])(structuredClone(body)), [], code)
      }
    })

    test(`${group}: the client retries exactly the faults that are temporary`, () => {
      for (const { code, status, body } of failuresOf(contract[endpoint])) {
        const at = { group, endpoint, status, fault: undefined, requestId: undefined, retryAfterMs: undefined }
        assert.equal(toGroupError(at, body)?.retryable, faults[code].retry === 'later', code)
        assert.equal(toGroupError(at, body)?.notFound, code === 'record.not_found', code)
      }
    })
  }
})

test('the document of a server lists its networks; the published one has any name', () => {
  const { path } = contract['validators.metadata']
  const schemaIn = (document: ReturnType<typeof openapi>) => {
    const { get } = document.paths[path] as Record<'get', Operation>
    return get.parameters.find(({ name }) => name === 'x-validator-network')?.schema as object
  }
  const own = openapi({ networks: ['mainnet', 'hoodi', 'holesky', 'devnet'] })
  assert.deepEqual(schemaIn(own), {
    ...{ type: 'string', enum: ['mainnet', 'hoodi', 'holesky', 'devnet'], default: 'mainnet' },
  })
  const published = schemaIn(openapi()) as { readonly pattern?: string; readonly examples?: readonly string[] }
  assert.deepEqual(published.examples, ['mainnet', 'hoodi', 'holesky'])
  assert.match('devnet-7', new RegExp(published.pattern ?? 'never'))
})
