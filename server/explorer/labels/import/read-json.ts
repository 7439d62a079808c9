// Reads the records of a JSON document with their lines and columns, so that rejects can be found in the file. The document
// is an array of records, or an object with lists of records; simple members of the object apply to all records. It may
// also be a reply of an API with a list `result`, or an object with a member for each address.
import { Fault } from '#core/fault.ts'
import { isAddress } from '../parse-record.ts'
import type { ImportedRecord } from './read-csv.ts'

/** `others`: how to treat lists and objects that are not in `arrays`. */
export function readJson(
  text: string,
  arrays: readonly string[],
  others: 'reject' | 'skip' = 'skip',
): ImportedRecord[] {
  const document = parseDocument(text)
  if (Array.isArray(document)) return withPositions(document, findPositions(text).get('') ?? [], {})
  if (typeof document !== 'object' || document === null) throw noRecords(arrays)
  const members = Object.entries(document)
  if (members.length > 0 && members.every(([name]) => isAddress(name))) return readAddressMap(text, members)
  const lists = members.filter(([name, value]) => arrays.includes(name) && Array.isArray(value))
  const unknownMember = members.find(
    (member) => typeof member[1] === 'object' && member[1] !== null && !lists.includes(member),
  )
  if (lists.length === 0) throw noRecords(arrays)
  if (unknownMember && others === 'reject') throw unknownList(unknownMember[0], arrays)
  // A reply has its status beside the list.
  const isShared = ([name, value]: [string, unknown]) =>
    typeof value !== 'object' && !(lists[0]?.[0] === 'result' && replyMembers.includes(name))
  const shared = Object.fromEntries(members.filter(isShared))
  const positions = findPositions(text)
  return lists.flatMap(([list, values]) => {
    const records = withPositions(values as unknown[], positions.get(list) ?? [], shared)
    return records.map((record) => ({ ...record, list }))
  })
}

const replyMembers: readonly string[] = ['status', 'message']

/** The value of an address is its name, or a record. */
function readAddressMap(text: string, members: readonly [string, unknown][]): ImportedRecord[] {
  const lineOf = new Map<string, number>()
  let line = 1
  for (const [token, address] of text.matchAll(/\n|"(0x[0-9a-f]{40})"\s*:/gi)) {
    if (address === undefined) line += 1
    else {
      lineOf.set(address, line)
      line += token.split('\n').length - 1
    }
  }
  return members.map(([address, value]) => {
    const position = { line: lineOf.get(address) ?? 1, raw: JSON.stringify({ [address]: value }) }
    if (typeof value === 'string') return { ...position, record: { address, name: value } }
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return { ...position, record: { ...value, address } }
    return { ...position, record: undefined, reason: 'the value of an address is neither a name nor an object' }
  })
}

type Position = Pick<ImportedRecord, 'line' | 'column'>

function withPositions(values: readonly unknown[], positions: readonly Position[], shared: object): ImportedRecord[] {
  return values.map((value, at) => {
    const position = positions[at] ?? { line: 1 }
    const raw = JSON.stringify(value)
    if (typeof value === 'string' && isAddress(value))
      return { ...position, record: { ...shared, address: value }, raw }
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return { ...position, record: undefined, reason: 'the record is not an object', raw }
    }
    return { ...position, record: { ...shared, ...value }, raw }
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

/** Where the records begin, by the name of their list. The name is '' if the document is an array. */
function findPositions(text: string): Map<string, Position[]> {
  const positions = new Map<string, Position[]>()
  const open: string[] = []
  let line = 1
  let lineStart = text.startsWith('\uFEFF') ? 1 : 0
  let name = ''
  for (const { index, 0: token, 1: key, 2: colon } of text.matchAll(tokens)) {
    if (token === '\n' || colon?.includes('\n')) {
      line += token.split('\n').length - 1
      lineStart = index + token.lastIndexOf('\n') + 1
    }
    if (token === '\n') continue
    if (colon !== undefined) {
      if (open.length === 1) name = JSON.parse(`"${key}"`)
    } else if (token === ']' || token === '}') open.pop()
    else {
      const outer = open.length === 1 && open[0] === '['
      const inner = open.length === 2 && open[0] === '{' && open[1] === '['
      if (outer || inner) positions.getOrInsert(outer ? '' : name, []).push({ line, column: index - lineStart + 1 })
      if (token === '[' || token === '{') open.push(token)
    }
  }
  return positions
}
