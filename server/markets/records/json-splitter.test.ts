import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { JsonSplitter, type SplitOptions, type SplitRecord } from './json-splitter.ts'

const bytesOf = (text: string) => new TextEncoder().encode(text)

function split(bytes: Uint8Array, cuts: readonly number[] = [], options: SplitOptions = {}): SplitRecord[] {
  const splitter = new JsonSplitter(options)
  const records: SplitRecord[] = []
  let from = 0
  for (const at of [...cuts].sort((a, b) => a - b)) {
    const chunk = bytes.slice(from, at)
    records.push(...splitter.push(chunk))
    chunk.fill(0x78) // The caller may reuse the chunk.
    from = at
  }
  return [...records, ...splitter.push(bytes.subarray(from)), ...splitter.end()]
}

const shown = (records: readonly SplitRecord[]) =>
  records.map((record) => ('text' in record ? `${record.line}: ${record.text}` : `${record.line}! ${record.problem}`))

const cases: readonly [name: string, text: string, expected: string[]][] = [
  ['an empty file', ' \n\n', []],
  ['an empty list', ' [ ]\n', []],
  ['a list', '[{"a":1},\n {"b":[1,{}]}\n,3 , "x,]" ]', ['1: {"a":1}', '2: {"b":[1,{}]}', '3: 3 ', '3: "x,]" ']],
  ['a single record over lines', '{\n "a": "}\\"{"\n}\n', ['1: {\n "a": "}\\"{"\n}']],
  ['records one after another', '{"a":1}{"b":2}\n{"c":\n3}', ['1: {"a":1}', '1: {"b":2}', '2: {"c":\n3}']],
  ['a record per line', '{"a":1}\r\n\r\n{"b":2}\n', ['1: {"a":1}', '3: {"b":2}']],
  ['no line end at the end', '{"a":1}\n{"b":2}', ['1: {"a":1}', '2: {"b":2}']],
  ['a broken line does not affect others', '{"a":1}\n{"b":\n{"c":3}\n', ['1: {"a":1}', '2: {"b":', '3: {"c":3}']],
  ['a broken first line, too', 'oops\n{"b":2}\n', ['1: oops', '2: {"b":2}']],
  ['a broken element does not affect others', '[{"a":nope},{"b":2}]', ['1: {"a":nope}', '1: {"b":2}']],
  ['a byte order mark', '\ufeff[1]', ['1: 1']],
  ['a truncated list', '[{"a":1},\n', ['1: {"a":1}', '2! the list does not end; the file may be truncated']],
  [
    'a file truncated in a record',
    '[{"a":1},\n{"b"',
    ['1: {"a":1}', '2! the record does not end; the file may be truncated'],
  ],
  ['text after the list', '[1]\n x 2', ['1: 1', '2! there is text after the end of the list']],
]
for (const [name, text, expected] of cases) {
  test(`${name} is split into its records`, () => assert.deepEqual(shown(split(bytesOf(text))), expected))
}

test('a record that is too large is rejected and the next one is read', () => {
  const text = `[{"a":"${'x'.repeat(100)}"},{"b":2}]`
  const expected = ['1! the record is larger than 50 bytes', '1: {"b":2}']
  assert.deepEqual(shown(split(bytesOf(text), [], { recordBytesMax: 50 })), expected)
  const cuts = Array.from({ length: text.length }, (_, at) => at)
  assert.deepEqual(shown(split(bytesOf(text), cuts, { recordBytesMax: 50 })), expected)
})

test('bytes that are not UTF-8 are reported', () => {
  assert.deepEqual(shown(split(Uint8Array.from([0x7b, 0x22, 0xff, 0x22, 0x7d]))), ['1! the record is not UTF-8'])
})

const anyObject = fc.dictionary(fc.string({ unit: 'binary', maxLength: 8 }), fc.jsonValue({ maxDepth: 3 }), {
  maxKeys: 4,
})
const writings = fc.constantFrom('list', 'pretty', 'lines', 'joined')

test('rule 1: any records in any format, split anywhere, are returned unchanged', () => {
  fc.assert(
    fc.property(
      fc.array(anyObject, { maxLength: 6 }),
      writings,
      fc.infiniteStream(fc.nat()),
      (records, form, draws) => {
        const text = {
          list: JSON.stringify(records),
          pretty: JSON.stringify(records, null, 1),
          lines: records.map((record) => `${JSON.stringify(record)}\n`).join(''),
          joined: records.map((record) => JSON.stringify(record)).join(' '),
        }[form]
        const bytes = bytesOf(text)
        const cuts = [...draws.take(1 + (bytes.length % 9))].map((draw) => draw % (bytes.length + 1))
        const parts = split(bytes, cuts)
        assert.deepEqual(
          parts.map((part) => ('text' in part ? JSON.parse(part.text) : part)),
          JSON.parse(JSON.stringify(records)),
        )
        assert.deepEqual(parts, split(bytes), 'the same in one piece')
      },
    ),
    { numRuns: 500 },
  )
})

test('rule 1: any bytes, split anywhere, give the same result', () => {
  const soup = fc.array(fc.constantFrom(...'{}[]",:\\\n x1é'), { maxLength: 60 })
  fc.assert(
    fc.property(soup, fc.array(fc.nat(100), { maxLength: 8 }), (letters, draws) => {
      const bytes = bytesOf(letters.join(''))
      const cuts = draws.map((draw) => draw % (bytes.length + 1))
      assert.deepEqual(split(bytes, cuts), split(bytes))
    }),
    { numRuns: 1000 },
  )
})
