// Generates the OpenAPI 3.1 document from the contract. Endpoints that share path and method (spec 4.1 and 4.3) become
// one operation.
import { allEndpoints } from './extensions.ts'
import { type Endpoint, isOtherSpelling, isRequired, isRequiredBySpec } from './kit.ts'
import { headers, jsonContent, replyName, responsesOf } from './openapi-responses.ts'
import { Components, type SchemaObject } from './openapi-schemas.ts'
import { toRequest } from './request.ts'
import { type Group, groups, inputLocation } from './routes.ts'
import { clientOf, curlOf, pythonOf } from './samples.ts'
import { withNetworks } from './with-networks.ts'
import { withNumbersAsText } from './with-numbers-as-text.ts'

export interface OpenapiOptions {
  /** URL of the server, without a slash at the end. */
  readonly serverUrl?: string
  readonly version?: string
  /** The names of the networks that the server has. */
  readonly networks?: readonly string[]
  /** The setting `fx.numbersAsText` of the server. */
  readonly numbersAsText?: boolean
}

const withTextExample = (endpoint: Endpoint): Endpoint => ({
  ...endpoint,
  example: { ...endpoint.example, reply: withNumbersAsText(endpoint.example.reply) },
})

export type OpenapiDocument = { readonly openapi: '3.1.1'; readonly paths: Record<string, SchemaObject> } & SchemaObject

const tags: Readonly<Record<Group, string>> = {
  explorer: 'Chain explorer data: address labels and the first funding of an address.',
  fx: 'Foreign-exchange quotes, indicative or executable.',
  validators: 'Effectiveness and metadata of consensus-layer validators.',
  markets: 'Prediction markets with their related records.',
}

export function openapi({
  serverUrl = 'http://127.0.0.1:8080',
  version = '0.1.0',
  networks,
  numbersAsText,
}: OpenapiOptions = {}): OpenapiDocument {
  const components = new Components({ numbersAsText })
  const every: readonly Endpoint[] = Object.values(allEndpoints)
  const named = networks ? every.map((endpoint) => withNetworks(endpoint, networks)) : every
  const all = numbersAsText ? named.map(withTextExample) : named
  const paths: Record<string, SchemaObject> = {}
  for (const { path, method } of all) {
    const name = method.toLowerCase()
    if (paths[path]?.[name]) continue
    const there = all.filter((other) => other.path === path && other.method === method)
    const described = operation(there, components, serverUrl)
    // Endpoints with the key in the query also accept their parameters as a form.
    const form = there[0]?.auth === 'apikey' && { post: formOperation(described) }
    paths[path] = { ...paths[path], [name]: described, ...form }
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Tetrad',
      version,
      summary: 'Chain explorer data, FX quotes, validator ratings and prediction markets.',
      description: aboutAll,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: serverUrl }],
    tags: groups.map((name) => ({ name, description: tags[name] })),
    paths,
    components: { securitySchemes, headers, schemas: components.schemas },
  }
}

const aboutAll = [
  'Every GET path also supports HEAD and cross-origin requests.',
  'A list parameter may be written as `a=1&a=2` or `a=1,2`. A name that is not known is refused, except by lookups of one record, which list it in `x-tetrad-ignored`; endpoints of the explorer ignore it.',
  'Integers may exceed 2^53: use a JSON parser that keeps every digit.',
].join(' ')

const securitySchemes = {
  apikey: { type: 'apiKey', in: 'query', name: 'apikey', description: 'The key, `tetrad:<id>:<secret>`.' },
  bearer: { type: 'http', scheme: 'bearer', description: 'The key, `tetrad:<id>:<secret>`.' },
}

/** The same operation by POST: the parameters and the key are a form. */
function formOperation({ operationId, parameters, 'x-codeSamples': _, ...rest }: Operation): SchemaObject {
  const key = { type: 'string', description: securitySchemes.apikey.description }
  return {
    ...rest,
    operationId: `${operationId}.form`,
    description: 'The same as GET, with the parameters as a form.',
    security: [{}],
    requestBody: {
      required: true,
      content: {
        'application/x-www-form-urlencoded': {
          schema: {
            type: 'object',
            required: ['apikey', ...parameters.filter(({ required }) => required).map(({ name }) => name)],
            properties: {
              apikey: key,
              ...Object.fromEntries(
                parameters.map(({ name, schema, description }) => [name, { ...schema, description }]),
              ),
            },
          },
        },
      },
    },
  }
}

interface Operation extends SchemaObject {
  readonly operationId: string
  readonly parameters: readonly Parameter[]
}

/** Endpoints that share a path have one operation. */
const operationId = ([first, ...others]: readonly Endpoint[]): string =>
  others.length > 0 ? `${first?.group}.${first?.path.split('/').at(-1)}` : String(first?.id)

function operation(there: Endpoint[], components: Components, baseUrl: string): Operation {
  const [first] = there
  if (!first) throw new Error('path without endpoint')
  const body = bodySchema(first, components)
  return {
    operationId: operationId(there),
    tags: [first.group],
    summary: there.map(({ summary }) => summary).join(' '),
    description: there
      .map((endpoint) => describe(endpoint) + (there.length > 1 ? howToCall(endpoint) : ''))
      .join('\n\n'),
    security: first.auth === 'open' ? [{}, { bearer: [] }] : [{ [first.auth]: [] }],
    parameters: parametersOf(there, components),
    ...(body && { requestBody: { required: true, content: jsonContent(body, inputExamples(first)) } }),
    responses: responsesOf(there, components),
    'x-endpoints': there.map(({ id }) => id),
    'x-codeSamples': there.flatMap((endpoint) => samplesOf(endpoint, baseUrl)),
  }
}

function samplesOf({ id, example, auth }: Endpoint, baseUrl: string): SchemaObject[] {
  const input = { ...example.input }
  const key = auth === 'open' ? undefined : 'tetrad:<id>:<secret>'
  return [
    { lang: 'Shell', label: `${id}: curl`, source: curlOf(id, baseUrl, input, key) },
    { lang: 'TypeScript', label: `${id}: client`, source: clientOf(id, baseUrl, input) },
    { lang: 'Python', label: `${id}: Python`, source: pythonOf(id, baseUrl, input) },
  ]
}

function describe(endpoint: Endpoint): string {
  const { id, selectedBy, notes, plan, auth } = endpoint
  const choice = selectedBy ? ` (\`module=${selectedBy.module}\`, \`action=${selectedBy.action}\`)` : ''
  const need =
    plan === 'free' ? 'Any plan.' : plan === 'enterprise' ? 'Enterprise plan only.' : `Plan ${plan} or higher.`
  const form = auth === 'apikey' ? ' The parameters may also be sent by POST as a form.' : ''
  return `**${id}**${choice}: ${notes} ${need}${form}`
}

/** For endpoints that are told apart by their parameters only. */
function howToCall({ id, example }: Endpoint): string {
  const { url } = toRequest(id, '', { ...example.input }, '<key>')
  return ` Call: \`GET ${decodeURIComponent(url)}\`. The reply is \`${replyName(id)}\`.`
}

interface Parameter {
  readonly name: string
  readonly in: string
  readonly required: boolean
  readonly schema: SchemaObject
  readonly [keyword: string]: unknown
}

/**
 * Inputs of all endpoints at this path. Those that not every endpoint has are optional, unless the specification requires
 * them with a default, which is harmless for the others.
 */
function parametersOf(there: Endpoint[], components: Components): Parameter[] {
  const united = new Map<string, Parameter>()
  const selectors = there.flatMap(({ selectedBy }) => (selectedBy ? [selectedBy] : []))
  for (const name of ['module', 'action'] as const) {
    const values = [...new Set(selectors.map((selector) => selector[name]))]
    if (values.length === 0) continue
    const schema = { type: 'string', enum: values, ...(values.length === 1 && { default: values[0] }) }
    united.set(name, { name, in: 'query', required: true, description: `Chooses the ${name}.`, schema })
  }
  for (const endpoint of there) {
    for (const [name, schema] of Object.entries(endpoint.input.properties)) {
      const parameter = toParameter(endpoint, name, schema, components)
      if (!parameter) continue
      const shared = there.every(({ input }) => name in input.properties)
      const only = shared
        ? {}
        : { 'x-endpoints': there.filter(({ input }) => name in input.properties).map(({ id }) => id) }
      united.set(parameter.name, {
        ...parameter,
        required: parameter.required && (shared || isRequiredBySpec(schema as object)),
        ...only,
      })
    }
  }
  return [...united.values()]
}

function toParameter(endpoint: Endpoint, name: string, schema: unknown, components: Components): Parameter | undefined {
  const location = inputLocation(endpoint, name)
  if (location === 'body' || isOtherSpelling(schema as object)) return undefined
  const { description, 'x-required': _, ...rest } = components.use(schema)
  const example = (endpoint.example.input as SchemaObject)[name]
  return {
    name: endpoint.headers?.[name] ?? name,
    in: location,
    required: isRequired(endpoint, name),
    description,
    schema: rest,
    ...(rest.type === 'array' && { style: 'form', explode: false }),
    ...(example !== undefined && { example }),
  }
}

function bodySchema(endpoint: Endpoint, components: Components): SchemaObject | undefined {
  const names = Object.keys(endpoint.input.properties).filter((name) => inputLocation(endpoint, name) === 'body')
  if (names.length === 0) return undefined
  return {
    type: 'object',
    required: names.filter((name) => isRequired(endpoint, name)),
    properties: Object.fromEntries(names.map((name) => [name, components.use(endpoint.input.properties[name])])),
  }
}

/** The part of the example that is sent in the body. */
const inputExamples = (endpoint: Endpoint) => {
  const { id, summary, example } = endpoint
  const inBody = Object.entries(example.input).filter(([name]) => inputLocation(endpoint, name) === 'body')
  return { [id]: { summary, value: Object.fromEntries(inBody) } }
}
