// Reads the records of a JSON document with their line numbers, so that rejects can be found in the file. The document
// is an array of records, or an object with lists of records; simple members of the object apply to all records.
import { Fault } from '#core/fault.ts'
import type { ImportedRecord } from './read-csv.ts'

/** `others`: how to treat lists and objects that are not in `arrays`. */
export function readJson(
  text: string,
  arrays: readonly string[],
  others: 'reject' | 'skip' = 'skip',
): ImportedRecord[] {
  const document = parseDocument(text)
  if (Array.isArray(document)) return withLines(document, findRecordLines(text).get('') ?? [], {})
  if (typeof document !== 'object' || document === null) throw noRecords(arrays)
  const members = Object.entries(document)
  const lists = members.filter(([name, value]) => arrays.includes(name) && Array.isArray(value))
  const unknownMember = members.find(
    (member) => typeof member[1] === 'object' && member[1] !== null && !lists.includes(member),
  )
  if (lists.length === 0) throw noRecords(arrays)
  if (unknownMember && others === 'reject') throw unknownList(unknownMember[0], arrays)
  const shared = Object.fromEntries(members.filter(([, value]) => typeof value !== 'object'))
  const lines = findRecordLines(text)
  return lists.flatMap(([list, values]) => {
    const records = withLines(values as unknown[], lines.get(list) ?? [], shared)
    return records.map((record) => ({ ...record, list }))
  })
}

function withLines(values: readonly unknown[], lines: readonly number[], shared: object): ImportedRecord[] {
  return values.map((value, at) => {
    const line = lines[at] ?? 1
    const raw = JSON.stringify(value)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return { line, record: undefined, reason: 'the record is not an object', raw }
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
  const message = `the file has no records: expected an array, or an object with ${arrays.join(' or ')}`
  return new Fault('input.invalid', { message })
}

function unknownList(name: string, arrays: readonly string[]): Fault {
  const message = `unknown member ${JSON.stringify(name.slice(0, 100))}; expected lists named ${arrays.join(' and ')}`
  return new Fault('input.invalid', { message })
}

const tokens = /"([^"\\]*(?:\\.[^"\\]*)*)"(\s*:)?|[[\]{}]|\n|[^\s"[\]{}:,]+/g

/** Line numbers of the records, by the name of their list. The name is '' if the document is an array. */
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
      if (outer || inner) lines.getOrInsert(outer ? '' : name, []).push(line)
      if (token === '[' || token === '{') open.push(token)
    }
  }
  return lines
}
