// Generates the page of each endpoint in docs/endpoints/ from the contract: inputs, reply, errors and an example.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { allEndpoints } from '#api/contract/extensions.ts'
import { failuresOf } from '#api/contract/failures.ts'
import { faults } from '#api/contract/faults.ts'
import { stringifyJson } from '#api/contract/json.ts'
import { type Endpoint, isRequired } from '#api/contract/kit.ts'
import { recordName } from '#api/contract/openapi-schemas.ts'
import { inputLocation } from '#api/contract/routes.ts'
import { clientOf, curlOf, keyVariable, pythonOf } from '#api/contract/samples.ts'
import type { JsonSchema as Schema } from '#api/contract/schema.ts'

const root = join(import.meta.dirname, '..')

/** The source file of each handler, by endpoint: the one that names its definition. The console names some as well. */
const handlerFiles = new Map(
  globSync('server/**/*.ts', { cwd: root, exclude: ['**/*.test.ts', 'server/admin/**'] }).flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/\b(?:contract|extensions)\['([\w.]+)'\]/g)].map(
      ([, id = '']) => [id, file] as const,
    ),
  ),
)

const base = 'http://127.0.0.1:8080'
const valuesMax = 8

/** Page by file name, the index first. */
export function endpointPages(): Record<string, string> {
  const all = Object.values(allEndpoints)
  return {
    'README.md': `${index(all)}\n`,
    ...Object.fromEntries(all.map((endpoint) => [`${endpoint.id}.md`, `${page(endpoint)}\n`])),
  }
}

const index = (all: readonly Endpoint[]): string =>
  [
    '# Endpoints',
    'Generated from the contract by `npm run docs`. See also [errors](../errors.md) and the\n[client](../client.md).',
    table(
      ['spec', 'endpoint', 'route', 'what it returns'],
      all.map(({ spec, id, method, path, selectedBy, summary }) => [
        spec,
        `[${id}](${id}.md)`,
        `\`${method} ${path}\`${selectedBy ? ` \`${selectedBy.module}\` \`${selectedBy.action}\`` : ''}`,
        summary,
      ]),
    ),
  ].join('\n\n')

function page(endpoint: Endpoint): string {
  const { id, summary, notes, input, reply } = endpoint
  const inputs = Object.entries(input.properties as Record<string, Schema>)
  return [
    `# ${id}`,
    summary,
    notes,
    ...requestSamples(endpoint),
    '## Example reply',
    codeBlock('json', stringifyJson(endpoint.example.reply, 2)),
    '## Route and limits',
    table(['', ''], facts(endpoint)),
    '## Inputs',
    inputs.length === 0
      ? 'None, except the key.'
      : table(
          ['name', 'in', 'type', 'required', 'default', 'meaning'],
          inputs.map(([name, schema]) => inputRow(endpoint, name, schema)),
        ),
    ...(inputs.some(([, { type }]) => type === 'array') ? ['Write a list as `a,b`, or repeat the name.'] : []),
    ...records(
      'Input',
      inputs.map(([, schema]) => schema),
    ),
    '## Reply',
    ...replySections(reply as unknown as Schema),
    '## Errors',
    errorTable(endpoint),
  ]
    .map(wrapParagraph)
    .join('\n\n')
}

const columnsMax = 100

/** Breaks a line of prose at spaces. Tables, code and headings stay as they are. */
export function wrapParagraph(text: string): string {
  if (text.includes('\n') || /^[#|]/.test(text)) return text
  const lines: string[] = ['']
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? ''
    if (line !== '' && line.length + 1 + word.length > columnsMax) lines.push(word)
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`
  }
  return lines.join('\n')
}

/** The endpoints that have a limit of their own. */
export function endpointLimits(): string {
  const limited = Object.values(allEndpoints).filter(({ perSecond }) => perSecond !== undefined)
  return table(
    ['endpoint', 'calls per second'],
    limited.map(({ id, perSecond, perSecondBelow }) => [
      `\`${id}\``,
      perSecondBelow === undefined ? String(perSecond) : `${perSecond}, below the ${perSecondBelow} plan`,
    ]),
  )
}

function limitsText({ perSecond, perSecondBelow }: Pick<Endpoint, 'perSecond' | 'perSecondBelow'>): string {
  if (!perSecond) return 'of the plan'
  const plans = perSecondBelow === undefined ? 'for any plan' : `for plans below ${perSecondBelow}`
  return `of the plan, and ${perSecond} calls per second ${plans}`
}

function facts({
  id,
  group,
  spec,
  method,
  path,
  selectedBy,
  auth,
  plan,
  urlBytesMax,
  ...limits
}: Endpoint): string[][] {
  const key = {
    apikey: 'query parameter `apikey`',
    bearer: 'header `authorization: Bearer <key>`',
    open:
      group === 'markets'
        ? 'none, unless `markets.requireKey` is set: then header `authorization: Bearer <key>`'
        : 'none',
  }
  return [
    ['Specification', spec === 'beyond' ? 'none: an extension' : spec],
    ['Route', `\`${method} ${path}\``],
    ...(selectedBy ? [['Selected by', `\`module=${selectedBy.module}\` and \`action=${selectedBy.action}\``]] : []),
    ...(auth === 'apikey' ? [['Also', 'POST with the same parameters as a form']] : []),
    ['Key', key[auth]],
    ['Plan', plan === 'free' ? 'any' : plan === 'enterprise' ? 'enterprise' : `${plan} or higher`],
    ['Limits', limitsText(limits)],
    ...(urlBytesMax ? [['Longest request line', `${urlBytesMax} bytes`]] : []),
    ['Handler', `\`${handlerFiles.get(id)}\``],
  ]
}

function inputRow(endpoint: Endpoint, name: string, schema: Schema): string[] {
  const wireName = endpoint.headers?.[name] ?? name
  return [
    wireName === name ? `\`${name}\`` : `\`${wireName}\` (client: \`${name}\`)`,
    inputLocation(endpoint, name),
    typeText(schema),
    isRequired(endpoint, name) ? 'yes' : 'no',
    schema.default === undefined ? '' : `\`${schema.default}\``,
    schema.description ?? '',
  ]
}

function typeText(schema: Schema): string {
  if (schema.anyOf) return schema.anyOf.map(typeText).join(', or ')
  const types = [schema.type ?? 'any'].flat()
  const suffix = types.includes('null') ? ' or null' : ''
  return `${plainTypeText(schema, types[0] ?? 'any')}${suffix}`
}

function plainTypeText(schema: Schema, type: string): string {
  const name = recordName(schema)
  if (name !== undefined) return `[${name}](#${name.toLowerCase()})`
  if (type === 'array') {
    const { minItems, maxItems } = schema
    return `array of ${typeText(schema.items ?? {})}${maxItems === undefined ? '' : `, ${minItems ?? 0} to ${maxItems} items`}`
  }
  if (schema.enum) {
    return schema.enum.length > valuesMax
      ? `one of the ${schema.enum.length} names below`
      : schema.enum.map((value) => `\`${value}\``).join(', ')
  }
  if (schema.format !== undefined) return `${type} (${schema.format})`
  const { minimum, maximum } = schema
  if (minimum !== undefined && maximum !== undefined) return `${type}, ${minimum} to ${maximum}`
  return minimum !== undefined ? `${type}, ${minimum} or more` : type
}

/** The fields of the reply, then each named record in it. */
function replySections(reply: Schema): string[] {
  const nested = records('Reply', [reply])
  if (reply.type === 'array') return [`An ${typeText(reply)}.`, ...nested]
  return recordName(reply) === undefined ? [fieldTable(reply), ...nested] : nested
}

function records(part: 'Input' | 'Reply', from: readonly Schema[]): string[] {
  const byName = new Map<string, Schema>()
  const walk = (schema: Schema): void => {
    const name = recordName(schema)
    if (name !== undefined && byName.has(name)) return
    if (name !== undefined) byName.set(name, schema)
    const inner = [
      ...Object.values(schema.properties ?? {}),
      ...(schema.anyOf ?? []),
      ...(schema.items ? [schema.items] : []),
    ]
    for (const member of inner) walk(member)
  }
  for (const schema of from) walk(schema)
  const names =
    part === 'Input'
      ? from.flatMap(({ items, enum: values = items?.enum ?? [] }) => (values.length > valuesMax ? values : []))
      : []
  const listed = names.length > 0 ? [`Names: ${names.map((name) => `\`${name}\``).join(', ')}.`] : []
  return [...listed, ...[...byName].flatMap(([name, schema]) => [`### ${name}`, fieldTable(schema)])]
}

function fieldTable(schema: Schema): string {
  return table(['field', 'type', 'present', 'meaning'], fieldRows(schema))
}

/** Fields of unnamed nested records are written with dots. */
function fieldRows({ properties = {}, required = [] }: Schema, prefix = ''): string[][] {
  return Object.entries(properties).flatMap(([name, member]) => {
    const row = [
      `\`${prefix}${name}\``,
      typeText(member),
      required.includes(name) ? 'always' : 'optional',
      member.description ?? '',
    ]
    const nested = member.type === 'object' && recordName(member) === undefined
    return nested ? fieldRows(member, `${prefix}${name}.`) : [row]
  })
}

function errorTable(endpoint: Endpoint): string {
  const rows = failuresOf(endpoint).map(({ code, status, body }) => [
    `[${code}](../errors.md#${code.replaceAll('.', '')})`,
    String(status),
    `\`${stringifyJson(body)}\``,
    faults[code].retry,
  ])
  return table(['code', 'status', 'body', '[try again](../errors.md#error-formats)'], rows)
}

function requestSamples({ id, example, auth }: Endpoint): string[] {
  const input = example.input as Record<string, unknown>
  const key = auth === 'open' ? undefined : keyVariable
  return [
    '## Example',
    ...(example.needs ? [`Before you call it: ${example.needs}`] : []),
    codeBlock('sh', curlOf(id, base, input, key, ' \\\n  ')),
    codeBlock('ts', clientOf(id, base, input)),
    codeBlock('python', pythonOf(id, base, input)),
  ]
}

const codeBlock = (language: string, text: string): string => `\`\`\`${language}\n${text}\n\`\`\``

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n')

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ')
