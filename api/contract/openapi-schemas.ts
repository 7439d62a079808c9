// The schemas of the contract as OpenAPI components. A record that a wire file exports becomes a component with the name
// of the export.
import { textMark } from './schema.ts'
import * as explorer from './wire/explorer.ts'
import * as explorerExtensions from './wire/explorer-extensions.ts'
import * as fundings from './wire/fundings.ts'
import * as fx from './wire/fx.ts'
import * as fxExtensions from './wire/fx-extensions.ts'
import * as fxLists from './wire/fx-lists.ts'
import * as fxTrades from './wire/fx-trades.ts'
import * as marketChanges from './wire/market-changes.ts'
import * as marketLists from './wire/market-lists.ts'
import * as markets from './wire/markets.ts'
import * as trail from './wire/trail.ts'
import * as validators from './wire/validators.ts'
import * as validatorsComparison from './wire/validators-comparison.ts'
import * as validatorsIncome from './wire/validators-income.ts'
import * as validatorsList from './wire/validators-list.ts'
import * as validatorsMetadata from './wire/validators-metadata.ts'
import * as validatorsNetwork from './wire/validators-network.ts'
import * as validatorsOperators from './wire/validators-operators.ts'

export type SchemaObject = { [keyword: string]: unknown }

/** Records by their `properties` object, which is the same object after a schema is made optional or nullable. */
const namesByMembers = new Map<unknown, string>()
const records = new Map<string, SchemaObject>()
for (const [name, value] of Object.entries({
  ...explorer,
  ...explorerExtensions,
  ...fx,
  ...fxExtensions,
  ...fxLists,
  ...fxTrades,
  ...validators,
  ...validatorsComparison,
  ...validatorsIncome,
  ...validatorsList,
  ...validatorsMetadata,
  ...validatorsOperators,
  ...validatorsNetwork,
  ...markets,
  ...marketChanges,
  ...marketLists,
  ...trail,
  ...fundings,
})) {
  if (typeof value !== 'object' || value === null || !('properties' in value)) continue
  namesByMembers.set(value.properties, name)
  records.set(name, value as unknown as SchemaObject)
}

/** Converts schemas and collects the components they refer to. */
export class Components {
  readonly schemas: Record<string, SchemaObject> = {}
  readonly #numbersAsText: boolean

  /** `numbersAsText`: integers that the setting of this name writes as text are described as text. */
  constructor({ numbersAsText = false }: { readonly numbersAsText?: boolean | undefined } = {}) {
    this.#numbersAsText = numbersAsText
  }

  /** The schema, with every named record in it as a reference. */
  use(schema: unknown): SchemaObject {
    const name = namesByMembers.get((schema as SchemaObject).properties)
    if (name === undefined) return this.#inline(schema as SchemaObject)
    if (!(name in this.schemas)) {
      this.schemas[name] = {} // Set before its members are converted, so that cycles end.
      this.schemas[name] = this.#inline(records.get(name) as SchemaObject)
    }
    const { description } = schema as SchemaObject
    return { $ref: `#/components/schemas/${name}`, ...(description !== undefined && { description }) }
  }

  /** A schema without a name of its own as a component, so that generators give it a short name. */
  add(name: string, schema: unknown): SchemaObject {
    if (recordName(schema) !== undefined) return this.use(schema)
    this.schemas[name] ??= { title: name, ...this.#inline(schema as SchemaObject) }
    return { $ref: `#/components/schemas/${name}` }
  }

  #inline(schema: SchemaObject): SchemaObject {
    if (this.#numbersAsText && textMark in schema)
      return { ...this.#members(schema), type: 'string', pattern: '^\\d+$' }
    return this.#members(schema)
  }

  #members(schema: SchemaObject): SchemaObject {
    const written: SchemaObject = {}
    const { 'x-other-spellings': others, ...documented } = schema
    for (const [keyword, value] of Object.entries(documented)) {
      if (keyword === 'properties') {
        written[keyword] = Object.fromEntries(
          Object.entries(value as SchemaObject).map(([name, member]) => [name, this.use(member)]),
        )
      } else if (keyword === 'items') written[keyword] = this.use(value)
      else if (keyword === 'anyOf') written[keyword] = (value as unknown[]).map((one) => this.use(one))
      else if (keyword === 'enum' && others)
        written[keyword] = (value as string[]).filter((one) => !(others as string[]).includes(one))
      else written[keyword] = structuredClone(value)
    }
    return written
  }
}

/** The name under which a record is exported. */
export const recordName = (schema: unknown): string | undefined =>
  namesByMembers.get((schema as SchemaObject | undefined)?.properties)
