// Reads the records of a JSON document with the line each begins on, so that a reject can be found again. The document is
// an array of records, or an object with lists of records in it; the object's simple members hold for all of them.
import { Fault } from '#core/fault.ts'
import type { ImportedRecord } from './read-csv.ts'

/** `others`: what becomes of lists and objects that are none of these; our own form has none, others' may. */
export function readJson(
  text: string,
  arrays: readonly string[],
  others: 'refused' | 'passed over' = 'passed over',
): ImportedRecord[] {
  const document = parseDocument(text)
  if (Array.isArray(document)) return withLines(document, findRecordLines(text).get('') ?? [], {})
  if (typeof document !== 'object' || document === null) throw noRecords(arrays)
  const members = Object.entries(document)
  const found = members.filter(([name, value]) => arrays.includes(name) && Array.isArray(value))
  const unknownMember = members.find((one) => typeof one[1] === 'object' && one[1] !== null && !found.includes(one))
  if (found.length === 0) throw noRecords(arrays)
  if (unknownMember && others === 'refused') throw unknownList(unknownMember[0], arrays)
  const shared = Object.fromEntries(members.filter(([, value]) => typeof value !== 'object'))
  const lines = findRecordLines(text)
  return found.flatMap(([list, values]) => {
    const records = withLines(values as unknown[], lines.get(list) ?? [], shared)
    return records.map((record) => ({ ...record, list }))
  })
}

function withLines(values: readonly unknown[], lines: readonly number[], shared: object): ImportedRecord[] {
  return values.map((value, at) => {
    const line = lines[at] ?? 1
    const raw = JSON.stringify(value)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return { line, record: undefined, reason: 'is not an object', raw }
    }
    return { line, record: { ...shared, ...value }, raw }
  })
}

function parseDocument(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch (error) {
    const message = `the file is not valid JSON: ${(error as Error).message}`
    throw new Fault('input.invalid', { message, cause: error })
  }
}

function noRecords(arrays: readonly string[]): Fault {
  const message = `the file holds no records: expected an array, or an object with ${arrays.join(' or ')}`
  return new Fault('input.invalid', { message })
}

function unknownList(name: string, arrays: readonly string[]): Fault {
  const message = `${JSON.stringify(name.slice(0, 100))} is not known in the file; lists of records are called ${arrays.join(' and ')}`
  return new Fault('input.invalid', { message })
}

const tokens = /"([^"\\]*(?:\\.[^"\\]*)*)"(\s*:)?|[[\]{}]|\n|[^\s"[\]{}:,]+/g

/** Where the elements begin of the outermost array ('') or of the arrays directly inside the outermost object. */
function findRecordLines(text: string): Map<string, number[]> {
  const lines = new Map<string, number[]>()
  const open: string[] = []
  let line = 1
  let name = ''
  for (const [token, key, colon] of text.matchAll(tokens)) {
    if (token === '\n') line += 1
    else if (colon !== undefined) {
      if (open.length === 1) name = JSON.parse(`"${key}"`)
      line += colon.split('\n').length - 1
    } else if (token === ']' || token === '}') open.pop()
    else {
      const outer = open.length === 1 && open[0] === '['
      const inner = open.length === 2 && open[0] === '{' && open[1] === '['
      if (outer || inner) linesFor(lines, outer ? '' : name).push(line)
      if (token === '[' || token === '{') open.push(token)
    }
  }
  return lines
}

function linesFor(lines: Map<string, number[]>, name: string): number[] {
  const list = lines.get(name) ?? []
  lines.set(name, list)
  return list
}
