// All settings as a flat list with path, environment variable and schema. Variables, flags and the reference page are
// derived from it.
import { SettingsSchema } from '../settings.ts'

/** The part of JSON Schema that the settings use. */
export interface SchemaNode {
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly default?: unknown
  readonly enum?: readonly unknown[]
  readonly minimum?: number
  readonly maximum?: number
  readonly pattern?: string
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly patternProperties?: Readonly<Record<string, SchemaNode>>
  readonly items?: SchemaNode
  readonly required?: readonly string[]
}

export interface Leaf {
  /** `['server', 'publicUrl']` */
  readonly path: readonly string[]
  /** `TETRAD_SERVER_PUBLIC_URL` */
  readonly variable: string
  readonly node: SchemaNode
}

export const settingsNode = SettingsSchema as unknown as SchemaNode

export const leaves: readonly Leaf[] = leavesUnder(settingsNode, [])

function leavesUnder(node: SchemaNode, path: readonly string[]): Leaf[] {
  if (!node.properties) return [{ path, variable: variableOf(path), node }]
  return Object.entries(node.properties).flatMap(([name, member]) => leavesUnder(member, [...path, name]))
}

function variableOf(path: readonly string[]): string {
  const snake = path.map((name) => name.replace(/([a-z0-9])([A-Z])/g, '$1_$2'))
  return ['tetrad', ...snake].join('_').toUpperCase()
}

/** The schema at `path`, through sections and lists. */
export function nodeAt(path: readonly string[]): SchemaNode | undefined {
  let node: SchemaNode | undefined = settingsNode
  for (const step of path) node = node?.properties?.[step] ?? node?.items
  return node
}
