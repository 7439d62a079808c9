// Parses YAML and reports problems with line and column. The only file that imports the YAML library.
import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, stringify, visit } from 'yaml'
import { errorMessage } from '#core/error-message.ts'

/** Limits how much aliases can expand a file. */
const aliasesMax = 100

export interface YamlPosition {
  readonly line: number
  readonly column: number
}

export interface YamlFile {
  readonly value: unknown
  readonly problems: readonly (YamlPosition & { readonly message: string })[]
  /** Position of the value or the name of a setting; for a missing setting, that of its section. */
  positionOf(path: readonly string[], part: 'name' | 'value'): YamlPosition
}

export function readYaml(text: string): YamlFile {
  const lines = new LineCounter()
  // Duplicate names are checked below. The check of the library is quadratic: one minute for 60 000 names.
  const document = parseDocument(text, {
    lineCounter: lines,
    uniqueKeys: false,
    logLevel: 'error',
    prettyErrors: false,
  })
  const positionAt = (offset: number): YamlPosition => {
    const { line, col } = lines.linePos(offset)
    return { line: Math.max(line, 1), column: Math.max(col, 1) }
  }
  const problems = [...document.errors, ...document.warnings].map((error) => ({
    ...positionAt(error.pos[0]),
    message: describeYamlError(error.code, error.message),
  }))
  if (problems.length > 0) return { value: undefined, problems, positionOf: () => positionAt(0) }
  for (const { offset, message } of nameProblems(document)) problems.push({ ...positionAt(offset), message })
  const expanded = expand(document)
  if (expanded.message) problems.push({ ...positionAt(0), message: expanded.message })
  return {
    value: expanded.value,
    problems,
    positionOf: (path, part) => positionAt(offsetOf(document, path, part)),
  }
}

export const writeYaml = (value: unknown): string => stringify(value, { lineWidth: 0 })

function describeYamlError(code: string, message: string): string {
  if (code === 'TAB_AS_INDENT') return 'a tab is used for indentation; use spaces'
  if (code === 'MULTIPLE_DOCS') return 'a second document starts here; use a single document'
  if (code === 'RESOURCE_EXHAUSTION') return 'the nesting is too deep'
  return `not valid YAML: ${message.replace(/\.$/, '')}`
}

function nameProblems(document: Document.Parsed): { offset: number; message: string }[] {
  const problems: { offset: number; message: string }[] = []
  visit(document, {
    Map(_, map) {
      const seen = new Set<string>()
      for (const { key } of map.items) {
        const offset = (isScalar(key) || isMap(key) || isSeq(key) ? key.range?.[0] : undefined) ?? 0
        if (!isScalar(key)) {
          problems.push({ offset, message: 'a name must be plain text' })
        } else if (seen.has(String(key.value))) {
          problems.push({ offset, message: `${String(key.value)} is set twice; keep one of them` })
        } else seen.add(String(key.value))
      }
    },
  })
  return problems
}

function expand(document: Document.Parsed): { value?: unknown; message?: string } {
  try {
    return { value: document.toJS({ maxAliasCount: aliasesMax }) }
  } catch (error) {
    const message = errorMessage(error)
    if (message.startsWith('Excessive alias')) {
      return { message: `aliases expand to more than ${aliasesMax} copies; write the values out` }
    }
    return { message: `not valid YAML: ${message}` }
  }
}

function offsetOf(document: Document.Parsed, path: readonly string[], part: 'name' | 'value'): number {
  let node: unknown = document.contents
  let offset = startOf(node) ?? 0
  for (const [at, step] of path.entries()) {
    const holder = isAlias(node) ? node.resolve(document) : node
    if (isMap(holder)) {
      const pair = holder.items.find(({ key }) => isScalar(key) && String(key.value) === step)
      if (!pair) return offset
      node = pair.value
      const nameOffset = startOf(pair.key) ?? offset
      offset = part === 'name' && at === path.length - 1 ? nameOffset : (startOf(node) ?? nameOffset)
    } else if (isSeq(holder)) {
      node = holder.items[Number(step)]
      offset = startOf(node) ?? offset
    } else return offset
  }
  return offset
}

const startOf = (node: unknown): number | undefined =>
  isScalar(node) || isMap(node) || isSeq(node) || isAlias(node) ? (node.range?.[0] ?? undefined) : undefined
