// All settings as a flat list with path, environment variable and schema. Variables, flags and the reference page are
// derived from it.
import type { JsonSchema } from '#api/contract/schema.ts'
import { SettingsSchema } from '../settings.ts'

export interface Leaf {
  /** `['server', 'publicUrl']` */
  readonly path: readonly string[]
  /** `TETRAD_SERVER_PUBLIC_URL` */
  readonly variable: string
  readonly node: JsonSchema
}

export const settingsNode = SettingsSchema as unknown as JsonSchema

export const leaves: readonly Leaf[] = leavesUnder(settingsNode, [])

function leavesUnder(node: JsonSchema, path: readonly string[]): Leaf[] {
  if (!node.properties) return [{ path, variable: variableOf(path), node }]
  return Object.entries(node.properties).flatMap(([name, member]) => leavesUnder(member, [...path, name]))
}

function variableOf(path: readonly string[]): string {
  const snake = path.map((name) => name.replace(/([a-z0-9])([A-Z])/g, '$1_$2'))
  return ['tetrad', ...snake].join('_').toUpperCase()
}

/** The schema at `path`, through sections and lists. */
export function nodeAt(path: readonly string[]): JsonSchema | undefined {
  let node: JsonSchema | undefined = settingsNode
  for (const step of path) node = node?.properties?.[step] ?? node?.items
  return node
}
