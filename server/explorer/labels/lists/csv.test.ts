import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { LabelRecord } from '#api/contract/wire/explorer.ts'
import { csvHeader, csvLine, spreadsheetLine } from './csv.ts'

const record = (changes: Partial<LabelRecord>): LabelRecord => ({
  labelname: 'Harbour',
  labelslug: 'harbour',
  shortdescription: 'An exchange.',
  notes: '',
  lastupdatedtimestamp: 1_790_000_000,
  ...changes,
})

test('the header line names the fields in the order of the specification', () =>
  assert.equal(csvHeader, 'labelname,labelslug,shortdescription,notes,lastupdatedtimestamp\r\n'))

test('values are quoted only if needed, with quotes doubled', () => {
  assert.equal(csvLine(record({})), 'Harbour,harbour,An exchange.,,1790000000\r\n')
  assert.equal(
    csvLine(record({ labelname: 'Say "when", Ltd', notes: 'two\nlines' })),
    '"Say ""when"", Ltd",harbour,An exchange.,"two\nlines",1790000000\r\n',
  )
})

test('a value that looks like a formula is not changed', () =>
  assert.equal(csvLine(record({ notes: '=1+1' })), 'Harbour,harbour,An exchange.,=1+1,1790000000\r\n'))

test('for spreadsheets, only such a value gets an apostrophe', () => {
  for (const start of ['=', '+', '-', '@', '\t', '\r']) {
    const [[name] = []] = read(spreadsheetLine(record({ labelname: `${start}1,2` })))
    assert.equal(name, `'${start}1,2`)
  }
  assert.equal(spreadsheetLine(record({ notes: 'a=1' })), csvLine(record({ notes: 'a=1' })))
})

test('any text can be read back unchanged', () => {
  const text = fc.string({ unit: fc.constantFrom('a', ',', '"', '\r', '\n', ' ', '=', 'é', '😀'), maxLength: 12 })
  fc.assert(
    fc.property(text, text, (labelname, notes) => {
      const line = csvLine(record({ labelname, notes }))
      assert.deepEqual(read(line), [[labelname, 'harbour', 'An exchange.', notes, '1790000000']])
    }),
  )
})

/** An independent parser of RFC 4180. */
function read(csv: string): string[][] {
  const lines: string[][] = []
  let line: string[] = []
  let value = ''
  let quoted = false
  for (let at = 0; at < csv.length; at++) {
    const char = csv[at]
    if (quoted && char === '"' && csv[at + 1] === '"') value += csv[at++]
    else if (char === '"') quoted = !quoted
    else if (!quoted && char === ',') [line, value] = [[...line, value], '']
    else if (!quoted && char === '\r' && csv[at + 1] === '\n') {
      lines.push([...line, value])
      ;[line, value] = [[], '']
      at++
    } else value += char
  }
  return lines
}
