import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { splitMessages } from './binary-rows.ts'

const message = (code: string, body: string): Buffer => {
  const bytes = Buffer.alloc(5 + body.length)
  bytes.write(code)
  bytes.writeUInt32BE(4 + body.length, 1)
  bytes.write(body, 5)
  return bytes
}

test('rows are found in any division of the stream, and the other messages stay complete and in order', () => {
  const messages = [
    ...[message('2', ''), message('T', 'fields'), message('D', 'row one'), message('D', '')],
    ...[message('D', 'a longer row, number three'), message('C', 'SELECT 3'), message('Z', 'I')],
  ]
  const stream = Buffer.concat(messages)
  for (let size = 1; size <= stream.length; size++) {
    const passed: [text: string, isRow: boolean][] = []
    const split = splitMessages((bytes, isRow) => passed.push([bytes.toString('latin1'), isRow]))
    for (let at = 0; at < stream.length; at += size) split(stream.subarray(at, at + size))
    const rows = passed.filter(([, isRow]) => isRow).map(([text]) => text)
    assert.deepEqual(rows, messages.slice(2, 5).map(String), `${size} bytes at once`)
    assert.equal(passed.map(([text]) => text).join(''), stream.toString('latin1'))
  }
})
