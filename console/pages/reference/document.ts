// Turns the OpenAPI document into one entry per endpoint, also where two endpoints share a path.
import { type AnyId, allRoutes, type Group, type Route } from '#api/routes.ts'

interface Schema {
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

interface FailureExample {
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
  /** Preconditions of the example request. */
  readonly requirements: string | undefined
  readonly failures: readonly FailureExample[]
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
    parameters: (operation.parameters ?? []).filter(
      (parameter) => belongsTo(id, parameter) && !(parameter.name in (route.select ?? {})),
    ),
    body: body?.schema,
    bodyExample: body?.examples?.[id]?.value,
    reply: replySchema(id, operation, content?.schema ?? {}),
    replyExample: example?.value,
    requirements: example?.description,
    failures: failuresOf(operation),
  }
}

const belongsTo = (id: AnyId, parameter: Parameter): boolean => parameter['x-endpoints']?.includes(id) ?? true

/** If endpoints share a path, the description has a paragraph per endpoint that starts with its id. */
function noteOf(id: AnyId, description: string): string {
  const paragraph = description.split('\n\n').find((text) => text.startsWith(`**${id}**`)) ?? description
  return paragraph.replace(/^\*\*[^*]+\*\*[^:]*: /, '')
}

/** `anyOf` lists the responses of the path's endpoints in their order, then those they share. */
function replySchema(id: AnyId, operation: Operation, schema: Schema): Schema {
  return schema.anyOf?.[operation['x-endpoints'].indexOf(id)] ?? schema
}

function failuresOf({ responses, 'x-endpoints': ids }: Operation): FailureExample[] {
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

/** Every field of a schema as a row, with nested records. A record that contains itself is expanded once. */
export function fieldsOf(schema: Schema, document: Document): readonly FieldRow[] {
  const rows: FieldRow[] = []
  collectFields(schema, '', [], document, rows)
  return rows
}

function collectFields(
  schemaOrRef: Schema,
  path: string,
  ancestors: readonly string[],
  document: Document,
  rows: FieldRow[],
): void {
  const { schema, name } = resolveRef(schemaOrRef, document)
  if (name !== undefined && ancestors.includes(name)) return
  const names = name === undefined ? ancestors : [...ancestors, name]
  if (names.length > depthMax || rows.length >= rowsMax) return
  if (schema.items) collectFields(schema.items, `${path}[]`, names, document, rows)
  for (const option of schema.anyOf ?? []) collectFields(option, path, names, document, rows)
  for (const [field, inner] of Object.entries(schema.properties ?? {})) {
    const fieldPath = path === '' || path === '[]' ? `${path}${path === '' ? '' : '.'}${field}` : `${path}.${field}`
    rows.push({
      path: fieldPath,
      type: typeOf(inner, document),
      required: schema.required?.includes(field) ?? false,
      description: inner.description ?? resolveRef(inner, document).schema.description ?? '',
    })
    collectFields(inner, fieldPath, names, document, rows)
  }
}

function resolveRef(schema: Schema, document: Document): { schema: Schema; name: string | undefined } {
  const name = schema.$ref?.split('/').at(-1)
  if (name === undefined) return { schema, name }
  return { schema: document.components.schemas[name] ?? {}, name }
}

export function typeOf(schema: Schema, document: Document): string {
  const { schema: target, name } = resolveRef(schema, document)
  if (target.enum) return target.enum.map((value) => JSON.stringify(value)).join(' | ')
  if (target.items) return `${typeOf(target.items, document)}[]`
  if (target.anyOf) return [...new Set(target.anyOf.map((option) => typeOf(option, document)))].join(' | ')
  const type = [target.type ?? 'any'].flat().join(' | ')
  return name ?? (target.format ? `${type} (${target.format})` : type)
}
