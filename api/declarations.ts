// Writes the published type declarations as plain interfaces, from the schemas of the contract. Declarations that derive
// types from schemas would need the schema library and a recent compiler. Inputs and replies are written as
// client/calls.ts derives them; build.test.ts compares both.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { pagedEndpoints } from './client/pages.ts'
import { allEndpoints } from './contract/extensions.ts'
import type { Endpoint } from './contract/kit.ts'
import { allRoutes, type Group, groups } from './contract/routes.ts'
import { bigMark, type JsonSchema as Schema, textMark } from './contract/schema.ts'

/** Name of a record → its schema. */
type Records = ReadonlyMap<string, Schema>

/** The content of each generated file, by name. */
export async function writeDeclarations(): Promise<Readonly<Record<string, string>>> {
  const records = await findRecords()
  return {
    'contract/records.d.ts': writeRecords(new TypeWriter(records), records),
    'client/calls.d.ts': writeCalls(new TypeWriter(records), Object.values(allEndpoints)),
    'contract/contract.d.ts': writeContract(),
  }
}

/** Every record that a file in contract/wire/ exports, by its name. */
async function findRecords(): Promise<Records> {
  const records = new Map<string, Schema>()
  const folder = join(import.meta.dirname, 'contract/wire')
  for (const file of (await readdir(folder)).sort()) {
    if (!file.endsWith('.ts') || file.endsWith('.test.ts')) continue
    for (const [name, value] of Object.entries(await import(join(folder, file)))) {
      if (!/^[A-Z]/.test(name) || typeof value !== 'object' || value === null || !('properties' in value)) continue
      const known = records.get(name)
      if (known && known !== value) throw new Error(`Two records are called ${name}; rename the one in wire/${file}.`)
      records.set(name, value as Schema)
    }
  }
  return records
}

/** In an input, optional members may also be undefined. */
type Role = 'input' | 'reply'

class TypeWriter {
  /** Names by the `properties` object, which is the same object after a schema is made optional or nullable. */
  readonly #names: ReadonlyMap<unknown, string>
  /** Records that types of this writer refer to. */
  readonly used = new Set<string>()

  constructor(records: Records) {
    this.#names = new Map([...records].map(([name, { properties }]) => [properties, name]))
  }

  declare(name: string, schema: Schema, role: Role, isOptional = isNotRequired): string {
    const { description } = schema
    return `${comment(description, '')}export interface ${name} ${this.#members(schema, role, '', isOptional)}\n`
  }

  /** The type as an expression. Continuation lines start with `indent`. */
  typeOf(schema: Schema, role: Role, indent = ''): string {
    if (schema.anyOf) return schema.anyOf.map((one) => this.typeOf(one, role, indent)).join(' | ')
    const types = [schema.type ?? []].flat()
    if (types.length === 0) return 'unknown'
    return types.map((type) => this.#single(type, schema, role, indent)).join(' | ')
  }

  #single(type: string, schema: Schema, role: Role, indent: string): string {
    if (schema.enum && type === 'string') return schema.enum.map((value) => `'${value}'`).join(' | ')
    // A network: editors offer the known names.
    if (schema.examples && type === 'string')
      return [...schema.examples.map((value) => `'${value}'`), '(string & {})'].join(' | ')
    if (type === 'integer' && schema[textMark]) return 'number | bigint | string'
    if (type === 'integer' && schema[bigMark]) return 'number | bigint'
    if (type === 'integer') return 'number'
    if (type === 'array') {
      const item = this.typeOf(schema.items ?? {}, role, indent)
      return item.includes('|') ? `(${item})[]` : `${item}[]`
    }
    return type === 'object' ? this.#object(schema, role, indent) : type
  }

  #object(schema: Schema, role: Role, indent: string): string {
    const [values] = Object.values(schema.patternProperties ?? {})
    if (values) return `{ [name: string]: ${this.typeOf(values, role, indent)} }`
    if (!schema.properties) return 'object'
    const name = this.#names.get(schema.properties)
    if (name === undefined || role === 'input') return this.#members(schema, role, indent, isNotRequired)
    this.used.add(name)
    return name
  }

  #members(schema: Schema, role: Role, indent: string, isOptional: typeof isNotRequired): string {
    const inner = `${indent}  `
    const lines = Object.entries(schema.properties ?? {}).map(([name, member]) => {
      const optional = isOptional(schema, name)
      const type = this.typeOf(member, role, inner)
      const whole = optional && role === 'input' ? `${type} | undefined` : type
      return `${comment(member.description, inner)}${inner}${property(name)}${optional ? '?' : ''}: ${whole}\n`
    })
    return `{\n${lines.join('')}${indent}}`
  }
}

const isNotRequired = ({ required = [] }: Schema, name: string): boolean => !required.includes(name)
const property = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : `'${name}'`)
const comment = (text: string | undefined, indent: string): string =>
  text === undefined ? '' : `${indent}/** ${text.replaceAll('*/', '*\\/')} */\n`

const writeRecords = (writer: TypeWriter, records: Records): string =>
  [...records].map(([name, schema]) => writer.declare(name, schema, 'reply')).join('\n')

function writeCalls(writer: TypeWriter, endpoints: readonly Endpoint[]): string {
  const inputs = endpoints.map(({ id, input }) =>
    writer.declare(`${pascal(id)}Input`, widen(input), 'input', hasNoNeed),
  )
  const replies = endpoints.map(
    ({ id, reply }) => `export type ${pascal(id)}Reply = ${writer.typeOf(reply as Schema, 'reply')}\n`,
  )
  const table = (name: string, suffix: string) =>
    `export interface ${name} {\n${endpoints.map(({ id }) => `  '${id}': ${pascal(id)}${suffix}\n`).join('')}}\n`
  return [
    `import type { ${[...writer.used].sort().join(', ')} } from '../contract/records.js'\n`,
    "import type { AnyId } from '../contract/routes.js'\nimport type { Call, PagedCall } from './call.js'\nimport type { RecordOf } from './pages.js'\nimport type { SendOptions } from './send.js'\n",
    'export type CallOptions = SendOptions\n',
    ...inputs,
    ...replies,
    '/** Input of each endpoint, by id. */\n',
    table('Inputs', 'Input'),
    '/** Reply of each endpoint, by id. */\n',
    table('Replies', 'Reply'),
    'export type InputOf<Id extends AnyId> = Inputs[Id]\nexport type ReplyOf<Id extends AnyId> = Replies[Id]\n',
    ...groups.map((group) => writeMethods(group, endpoints)),
  ].join('\n')
}

/** Path and query inputs that are text on the wire may be passed as numbers (client/calls.ts). */
function widen(input: Endpoint['input']): Schema {
  const properties = Object.entries(input.properties as Readonly<Record<string, Schema>>).map(([name, member]) =>
    numbersToo.has(name) && member.type === 'string' && !member.enum
      ? [name, { ...member, type: ['string', 'number'] }]
      : [name, member],
  )
  return { ...(input as Schema), properties: Object.fromEntries(properties) }
}
const numbersToo: ReadonlySet<string> = new Set(['chainid', 'validator_index_or_pubkey', 'from', 'to'])

/** Inputs with a default are optional. */
const hasNoNeed = (schema: Schema, name: string): boolean =>
  isNotRequired(schema, name) || schema.properties?.[name]?.default !== undefined

function writeMethods(group: Group, endpoints: readonly Endpoint[]): string {
  const methods = endpoints
    .filter((endpoint) => endpoint.group === group && !allRoutes[endpoint.id].stream)
    .map(({ id, summary, input }) => {
      const names = Object.keys((input as Schema).properties ?? {})
      const mark = names.every((name) => hasNoNeed(input as Schema, name)) ? '?' : ''
      const reply = `${pascal(id)}Reply`
      const call = id in pagedEndpoints ? `PagedCall<${reply}, RecordOf<'${id}'>>` : `Call<${reply}>`
      const types = `(input${mark}: ${pascal(id)}Input, options?: CallOptions) => ${call}`
      return `  /** ${summary} */\n  readonly ${id.slice(group.length + 1)}: ${types}\n`
    })
  return `export interface ${capital(group)}Methods {\n${methods.join('')}}\n`
}

const writeContract = (): string =>
  [
    "import type { PlainEndpoint } from './endpoint.js'",
    "import type { EndpointId } from './routes.js'",
    'export type { PlainEndpoint }',
    'export declare const contract: Readonly<Record<EndpointId, PlainEndpoint>>',
    '',
  ].join('\n')

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
/** `markets.bySlug` → `MarketsBySlug`. */
const pascal = (id: string): string => id.split('.').map(capital).join('')
