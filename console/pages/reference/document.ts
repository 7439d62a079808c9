// The OpenAPI document as the reference needs it: one entry per endpoint, also where two share a path.
import { type AnyId, allRoutes, type Group, type Route } from '#api/routes.ts'

export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly pattern?: string
  readonly enum?: readonly unknown[]
  readonly default?: unknown
  readonly description?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
}

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly description?: string
  readonly schema: Schema
  readonly example?: unknown
  readonly 'x-endpoints'?: readonly string[]
}

interface Example {
  readonly summary: string
  readonly description?: string
  readonly value: unknown
}

interface Content {
  readonly schema: Schema
  readonly examples?: Readonly<Record<string, Example>>
}

interface Operation {
  readonly summary: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> }
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly content?: Readonly<Record<string, Content>> }>
  >
  readonly 'x-endpoints': readonly AnyId[]
}

export interface Document {
  readonly info: { readonly summary: string; readonly description: string }
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation & { readonly description: string }>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

export interface Failing {
  readonly status: string
  readonly code: string
  readonly summary: string
  readonly value: unknown
}

export interface Entry extends Pick<Route, 'method' | 'path' | 'select' | 'auth' | 'plan' | 'perSecond' | 'stream'> {
  readonly id: AnyId
  readonly group: Group
  readonly summary: string
  readonly notes: string
  readonly parameters: readonly Parameter[]
  readonly body: Schema | undefined
  readonly bodyExample: unknown
  readonly reply: Schema
  readonly replyExample: unknown
  /** What has to be there before the example is answered. */
  readonly needs: string | undefined
  readonly failures: readonly Failing[]
}

export function entriesOf(document: Document): readonly Entry[] {
  return Object.values(document.paths)
    .flatMap((methods) => Object.values(methods))
    .flatMap((operation) => operation['x-endpoints'].map((id) => entryOf(id, operation)))
}

function entryOf(id: AnyId, operation: Operation & { readonly description: string }): Entry {
  const route = allRoutes[id]
  const success = operation.responses['200']?.content ?? {}
  const [content] = Object.values(success)
  const [body] = Object.values(operation.requestBody?.content ?? {})
  const example = content?.examples?.[id]
  return {
    ...route,
    id,
    summary: example?.summary ?? operation.summary,
    notes: noteOf(id, operation.description),
    parameters: (operation.parameters ?? []).filter((one) => isOf(id, one) && !(one.name in (route.select ?? {}))),
    body: body?.schema,
    bodyExample: body?.examples?.[id]?.value,
    reply: replySchema(id, operation, content?.schema ?? {}),
    replyExample: example?.value,
    needs: example?.description,
    failures: failuresOf(operation),
  }
}

const isOf = (id: AnyId, parameter: Parameter): boolean => parameter['x-endpoints']?.includes(id) ?? true

/** Where endpoints share a path, each has a paragraph that begins with its name. */
function noteOf(id: AnyId, description: string): string {
  const paragraph = description.split('\n\n').find((one) => one.startsWith(`**${id}**`)) ?? description
  return paragraph.replace(/^\*\*[^*]+\*\*[^:]*: /, '')
}

/** Answers of the endpoints at this path stand in their order, before what all of them share. */
function replySchema(id: AnyId, operation: Operation, schema: Schema): Schema {
  return schema.anyOf?.[operation['x-endpoints'].indexOf(id)] ?? schema
}

function failuresOf({ responses, 'x-endpoints': ids }: Operation): Failing[] {
  return Object.entries(responses).flatMap(([status, { content = {} }]) =>
    Object.values(content).flatMap(({ examples = {} }) =>
      Object.entries(examples)
        .filter(([code]) => !(ids as readonly string[]).includes(code))
        .map(([code, { summary, value }]) => ({ status, code, summary, value })),
    ),
  )
}

export interface FieldRow {
  readonly path: string
  readonly type: string
  readonly required: boolean
  readonly description: string
}

const rowsMax = 400
const depthMax = 4

/** Every field of a schema, one row each; records within are followed, each only once on its way down. */
export function fieldsOf(schema: Schema, document: Document): readonly FieldRow[] {
  const rows: FieldRow[] = []
  collectFields(schema, '', [], document, rows)
  return rows
}

function collectFields(
  given: Schema,
  path: string,
  above: readonly string[],
  document: Document,
  rows: FieldRow[],
): void {
  const { schema, name } = resolved(given, document)
  if (name !== undefined && above.includes(name)) return
  const seen = name === undefined ? above : [...above, name]
  if (seen.length > depthMax || rows.length >= rowsMax) return
  if (schema.items) collectFields(schema.items, `${path}[]`, seen, document, rows)
  for (const one of schema.anyOf ?? []) collectFields(one, path, seen, document, rows)
  for (const [field, inner] of Object.entries(schema.properties ?? {})) {
    const at = path === '' || path === '[]' ? `${path}${path === '' ? '' : '.'}${field}` : `${path}.${field}`
    rows.push({
      path: at,
      type: typeOf(inner, document),
      required: schema.required?.includes(field) ?? false,
      description: inner.description ?? resolved(inner, document).schema.description ?? '',
    })
    collectFields(inner, at, seen, document, rows)
  }
}

function resolved(schema: Schema, document: Document): { schema: Schema; name: string | undefined } {
  const name = schema.$ref?.split('/').at(-1)
  if (name === undefined) return { schema, name }
  return { schema: document.components.schemas[name] ?? {}, name }
}

export function typeOf(schema: Schema, document: Document): string {
  const { schema: found, name } = resolved(schema, document)
  if (found.enum) return found.enum.map((value) => JSON.stringify(value)).join(' | ')
  if (found.items) return `${typeOf(found.items, document)}[]`
  if (found.anyOf) return [...new Set(found.anyOf.map((one) => typeOf(one, document)))].join(' | ')
  const type = [found.type ?? 'any'].flat().join(' | ')
  return name ?? (found.format ? `${type} (${found.format})` : type)
}
