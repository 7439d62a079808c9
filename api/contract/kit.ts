// Building blocks of the contract: schema types and the `Endpoint` type. Only this file and schema.ts import the schema
// library.
import type { Static, TObject, TOptional, TProperties, TSchema } from 'typebox'
import type { PlainEndpoint, PlainExample } from './endpoint.ts'
import { type AnyId, allRoutes, type Route } from './routes.ts'
import { bigMark, Type, textMark } from './schema.ts'

export type { Static, TObject, TProperties, TSchema }
export { Type }

/** An optional input with a default. */
export type Defaulted<S extends TSchema> = S & { default: unknown }

export const withDefault = <S extends TSchema>(schema: S, value: Static<S>): Defaulted<S> => ({
  ...schema,
  default: value,
})

export const Text = Type.String()
export const Flag = Type.Boolean()
export const Num = Type.Number()
export const Whole = Type.Integer()
export const Count = Type.Integer({ minimum: 0 })
export const DateTime = Type.String({ format: 'date-time' })
/** An integer of any size: a number where that is exact, a bigint beyond 2^53. */
export const BigWhole = Type.Unsafe<number | bigint>({ type: 'integer', [bigMark]: true })
/** An integer, or decimal text on a server with `fx.numbersAsText`. */
export const SignedWhole = Type.Unsafe<number | bigint | string>({
  type: 'integer',
  [bigMark]: true,
  [textMark]: true,
})
/** Text with a pattern. Error messages use `x-must`: "`address` must be 0x and 40 hexadecimal digits". */
export const PatternText = (pattern: string, must: string, options: object = {}) =>
  Type.String({ pattern, 'x-must': must, ...options })
export const Address = PatternText('^0x[0-9a-fA-F]{40}$', 'be 0x and 40 hexadecimal digits')
export const Hash = PatternText('^0x[0-9a-fA-F]{64}$', 'be 0x and 64 hexadecimal digits')

export const oneOf = <const V extends string>(values: readonly V[], options: object = {}) =>
  Type.Unsafe<V>({ type: 'string', enum: values, ...options })

/** Inputs and settings with a default value. Those of `integer` also have a minimum and a maximum. */
export const choice = <const V extends string>(values: readonly V[], value: NoInfer<V>, description: string) =>
  withDefault(oneOf(values, { description }), value)

export const boolean = (value: boolean, description: string) => withDefault(Type.Boolean({ description }), value)

export const integer = (value: number, minimum: number, maximum: number, description: string) =>
  withDefault(Type.Integer({ minimum, maximum, description }), value)

/** Allows null; only for schemas with a single JSON type. */
export const nullable = <S extends TSchema>(schema: S) =>
  Type.Unsafe<Static<S> | null>({ ...schema, type: [(schema as unknown as { type: string }).type, 'null'] })

/** A record without a name of its own. */
export const record = <P extends TProperties>(description: string, members: P) => Type.Object(members, { description })

/** A list of such records. */
export const recordList = <P extends TProperties>(description: string, members: P) =>
  Type.Array(Type.Object(members), { description })

/** A parameter that may repeat, `a=1&a=2` or `a=1,2`. */
export const many = <S extends TSchema>(
  schema: S,
  options: { minItems?: number; maxItems?: number; description?: string } = {},
) => Type.Array(schema, options)

/** Optional members with the same schema, with their descriptions. The specification lists large records this way. */
export const each = <S extends TSchema, const K extends string>(
  schema: S,
  names: readonly K[],
  descriptions: Readonly<Record<string, string>> = {},
) =>
  Object.fromEntries(
    names.map((name) => [name, Type.Optional(described(schema, descriptions[name]))]),
  ) as unknown as Record<K, TOptional<S>>

const described = <S extends TSchema>(schema: S, description: string | undefined): S =>
  description === undefined ? schema : { ...schema, description }

/** Required members with the same schema. */
export const every = <S extends TSchema, const K extends string>(
  schema: S,
  names: readonly K[],
  descriptions: Readonly<Record<string, string>> = {},
) => Object.fromEntries(names.map((name) => [name, described(schema, descriptions[name])])) as unknown as Record<K, S>

interface Example<I, R> extends PlainExample {
  readonly input: I & object
  readonly reply: R
}

export interface Endpoint<I extends TObject = TObject, R extends TSchema = TSchema> extends PlainEndpoint {
  readonly input: I
  readonly reply: R
  readonly example: Example<Partial<Static<I>>, Static<R>>
}

/** Adds the route of the endpoint to its description. */
export const endpoint = <const Id extends AnyId, I extends TProperties, R extends TSchema>(
  id: Id,
  description: Omit<Endpoint<TObject<I>, R>, keyof Route | 'id' | 'input'> & { input: TObject<I> },
): Endpoint<TObject<I>, R> & { readonly id: Id } => ({ ...allRoutes[id], id, ...description })

/**
 * Whether callers must send this input, as documented. Inputs with a default are required in the contract only, except
 * those that the specification requires: the server accepts their absence, but other servers may not.
 */
export const isRequired = ({ input }: Endpoint, name: string): boolean => {
  const property = input.properties[name] as object
  const isInContract = (input as { required?: readonly string[] }).required?.includes(name) === true
  return isInContract && (!('default' in property) || isRequiredBySpec(property))
}

/** Another name of an input. It is accepted, but not in the OpenAPI document: generators make one name of both. */
export const otherSpelling = <S extends TSchema>(schema: S, name: string) =>
  Type.Optional({
    ...schema,
    description: `Other spelling of \`${name}\`.`,
    'x-spelling-of': name,
  }) as unknown as TOptional<S>
/** The same of values: they are accepted, but not in the document. */
export const withOtherSpellings = <S extends TSchema>(schema: S, values: readonly string[]): S => ({
  ...schema,
  'x-other-spellings': values,
})
export const isOtherSpelling = (schema: object): boolean => 'x-spelling-of' in schema

/** For an input with a default that the specification marks as required. */
export const requiredBySpec = { 'x-required': true }
export const isRequiredBySpec = (schema: object): boolean => 'x-required' in schema

export type Reply<E extends Endpoint> = Static<E['reply']>
/** Input of a handler: defaults are filled in. */
export type Parsed<E extends Endpoint> = Static<E['input']>

type DefaultedNames<P> = { [K in keyof P]: P[K] extends { default: unknown } ? K : never }[keyof P]
/** Input of a caller: inputs with a default are optional. */
export type Input<E extends Endpoint> =
  E['input'] extends TObject<infer P>
    ? Omit<Parsed<E>, DefaultedNames<P>> & Partial<Pick<Parsed<E>, DefaultedNames<P> & keyof Parsed<E>>>
    : never
