// The responses of an OpenAPI operation: the reply, and the faults by status.
import { type FailureExample, failureSchemas, failuresOf } from './failures.ts'
import { faults } from './faults.ts'
import type { Endpoint } from './kit.ts'
import { type Components, recordName, type SchemaObject } from './openapi-schemas.ts'
import type { JsonSchema } from './schema.ts'

const header = (description: string, schema: SchemaObject = { type: 'string' }) => ({ description, schema })

export const headers = {
  'x-request-id': header('Id of the request in the log; a caller may choose it.'),
  'retry-after': header('Seconds to wait before the next attempt.', { type: 'integer', minimum: 1 }),
  'x-tetrad-fault': header('Code of the error, such as `input.invalid`; only in errors.', {
    type: 'string',
    examples: ['input.invalid'],
  }),
  'x-tetrad-as-of': header('Block, epoch or time that the response is based on.'),
  'x-tetrad-finality': header('Whether the data can still change.', {
    type: 'string',
    enum: ['finalized', 'head'],
  }),
  'x-tetrad-coverage': header(
    '`complete`, or the ranges that have been read; `probed` for a first funding that was searched in a node.',
  ),
  'x-tetrad-method': header('Version of the rating method.'),
  'x-tetrad-ignored': header('Names in the request that had no effect, percent-encoded and separated by commas.'),
  'x-tetrad-large-integers': header(
    'Integers above 2^53 in the typed data, separated by commas. `JSON.parse` rounds them.',
  ),
  etag: header('Changes with the body.'),
  allow: header('Methods that this path supports.'),
}

type HeaderName = keyof typeof headers

const withHeaders = (names: readonly HeaderName[]) => ({
  headers: Object.fromEntries(
    ['x-request-id', ...names].map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  ),
})

export const jsonContent = (schema: SchemaObject, examples: SchemaObject) => ({
  'application/json': { schema, examples },
})

/** Each event contains one reply. */
const streamContent = ({ example }: Endpoint) => ({
  'text/event-stream': {
    schema: { type: 'string' },
    example: `event: change\nid: ${(example.reply as { cursor: string }).cursor}\ndata: ${JSON.stringify(example.reply)}\n\n`,
  },
})

/** Responses of the endpoints that share one operation, by status. */
export function responsesOf(there: readonly Endpoint[], components: Components): SchemaObject {
  const failures = byStatus(there)
  const isCacheable = there.some(({ etag }) => etag)
  const responses: SchemaObject = { 200: success(there, failures.get(200) ?? [], isCacheable, components) }
  if (isCacheable) {
    responses[304] = { description: 'Not modified: the etag in the request is current.', ...withHeaders(['etag']) }
  }
  for (const [status, ones] of failures) {
    if (status === 200) continue
    responses[status] = {
      description: ones.map(({ code }) => faults[code].message).join(' '),
      ...withHeaders(failureHeaders(status)),
      content: jsonContent(failureSchema(there, components), examplesOf(ones)),
    }
  }
  return responses
}

const hasLooseResult = ({ reply }: Endpoint): boolean => (reply as JsonSchema).properties?.result?.anyOf !== undefined

/** `explorer.fundedBy` → `FundedByReply`. */
export function replyName(id: string): string {
  const name = id.slice(id.indexOf('.') + 1)
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}Reply`
}

function success(
  there: readonly Endpoint[],
  failures: readonly FailureExample[],
  isCacheable: boolean,
  components: Components,
): SchemaObject {
  const isAlternative = there.length > 1 || failures.length > 0
  // Generated clients take the first alternative that fits, and a result of several types fits anything.
  const strictFirst = [...there].sort((a, b) => Number(hasLooseResult(a)) - Number(hasLooseResult(b)))
  const replies = strictFirst.map(({ id, reply }) =>
    isAlternative ? components.add(replyName(id), reply) : components.use(reply),
  )
  const schemas = failures.length > 0 ? [...replies, failureSchema(there, components)] : replies
  const examples = Object.fromEntries(
    there.map(({ id, summary, example: { needs, reply } }) => [
      id,
      { summary, ...(needs && { description: needs }), value: reply },
    ]),
  )
  const names: HeaderName[] = ['x-tetrad-as-of', 'x-tetrad-finality', 'x-tetrad-coverage']
  if (there[0]?.group !== 'explorer') names.push('x-tetrad-ignored')
  // Replies that are computed from stored duties have the version of the method.
  if (there.some((endpoint) => endpoint.faults.includes('validators.windows_changed'))) names.push('x-tetrad-method')
  if (there.some(({ reply }) => recordName(reply) === 'Quote')) names.push('x-tetrad-large-integers')
  if (isCacheable) names.push('etag')
  if (failures.length > 0) names.push('x-tetrad-fault', 'retry-after')
  return {
    description: failures.length > 0 ? 'Success, or an error in the same envelope.' : 'Success.',
    ...withHeaders(names),
    content: there[0]?.stream
      ? streamContent(there[0])
      : jsonContent(schemas.length === 1 ? (schemas[0] as SchemaObject) : { anyOf: schemas }, {
          ...examples,
          ...examplesOf(failures),
        }),
  }
}

function byStatus(there: readonly Endpoint[]): Map<number, readonly FailureExample[]> {
  const unique = [...new Map(there.flatMap(failuresOf).map((one) => [one.code, one])).values()]
  const statuses = [...new Set(unique.map(({ status }) => status))].sort((a, b) => a - b)
  return new Map(statuses.map((status) => [status, unique.filter((one) => one.status === status)]))
}

const failureSchema = ([first]: readonly Endpoint[], components: Components): SchemaObject =>
  components.use(failureSchemas[(first as Endpoint).group])

const failureHeaders = (status: number): readonly HeaderName[] => [
  'x-tetrad-fault',
  ...(status === 429 || status === 503 ? (['retry-after'] as const) : []),
  ...(status === 405 ? (['allow'] as const) : []),
]

const examplesOf = (failures: readonly FailureExample[]): SchemaObject =>
  Object.fromEntries(failures.map(({ code, body }) => [code, { summary: faults[code].message, value: body }]))
