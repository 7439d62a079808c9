// The functions that create schemas: those of TypeBox that the contract and the settings use, with its types and the same
// results. They are written here because the library has 370 files. To load them takes 0.2 s and 22 MiB per thread
// (decisions/load-only-what-a-start-needs.md).
import type TypeBox from 'typebox'

type SchemaFunctions = Pick<
  typeof TypeBox,
  | 'Array'
  | 'Boolean'
  | 'Integer'
  | 'Number'
  | 'Object'
  | 'Optional'
  | 'Record'
  | 'String'
  | 'Union'
  | 'Unknown'
  | 'Unsafe'
>

/** Marks integers that may be bigints. A symbol, so that no document contains it, but copies of the schema do. */
export const bigMark = Symbol('may be a bigint')

/** Marks integers that are decimal text on a server with `fx.numbersAsText`. */
export const textMark = Symbol('may be decimal text')

/** A schema as JSON: the keywords that the contract uses. */
export interface JsonSchema {
  readonly type?: string | readonly string[]
  readonly enum?: readonly string[]
  /** Of texts that may have other values too. */
  readonly examples?: readonly string[]
  readonly anyOf?: readonly JsonSchema[]
  readonly items?: JsonSchema
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly description?: string
  readonly default?: unknown
  readonly pattern?: string
  readonly format?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly [bigMark]?: true
  readonly [textMark]?: true
  /** Of settings: the member that a text in place of the object means. */
  readonly 'x-text-for'?: string
}

/** Not enumerable, so that it is neither printed nor copied with the schema. */
const optionalMark = '~optional'

const plain =
  (type: string) =>
  (options?: object): object => ({ type, ...options })

export const Type = {
  Array: (items: object, options?: object) => ({ type: 'array', items, ...options }),
  Boolean: plain('boolean'),
  Integer: plain('integer'),
  Number: plain('number'),
  Object(properties: Readonly<Record<string, object>>, options?: object) {
    const required = Object.keys(properties).filter((name) => !(optionalMark in (properties[name] as object)))
    return { type: 'object', ...(required.length > 0 && { required }), properties, ...options }
  },
  Optional: (schema: object) => Object.defineProperty({ ...schema }, optionalMark, { value: true }),
  /** With any name as the key. */
  Record: (_key: object, value: object, options?: object) => ({
    type: 'object',
    patternProperties: { '^.*$': value },
    ...options,
  }),
  String: plain('string'),
  Union: (anyOf: readonly object[], options?: object) => ({ anyOf, ...options }),
  Unknown: (options?: object) => ({ ...options }),
  Unsafe: (schema: object) => ({ ...schema }),
} as unknown as SchemaFunctions
