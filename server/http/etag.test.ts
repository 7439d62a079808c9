import assert from 'node:assert/strict'
import { test } from 'node:test'
import { etagOf, httpDate, isUnchanged } from './etag.ts'

const at = Date.UTC(2026, 10, 15, 12, 0, 7, 500)

test('etags are equal exactly for equal bytes', () => {
  const tag = etagOf(Buffer.from('one'))
  assert.match(tag, /^"[\w-]{22}"$/)
  assert.equal(tag, etagOf(Buffer.from('one')))
  assert.notEqual(tag, etagOf(Buffer.from('two')))
})

const cases: readonly [name: string, headers: Record<string, string>, unchanged: boolean][] = [
  ['no condition', {}, false],
  ['the tag', { 'if-none-match': '"a"' }, true],
  ['the tag, weak', { 'if-none-match': 'W/"a"' }, true],
  ['the tag within a list', { 'if-none-match': '"x", W/"a" ,"y"' }, true],
  ['a list without the tag', { 'if-none-match': '"x", "aa"' }, false],
  ['a tag without quotes is no tag', { 'if-none-match': 'a' }, false],
  ['any', { 'if-none-match': ' * ' }, true],
  ['since the very second, whose fraction a date cannot carry', { 'if-modified-since': httpDate(at) }, true],
  ['since a second earlier', { 'if-modified-since': httpDate(at - 1000) }, false],
  ['since later', { 'if-modified-since': httpDate(at + 60_000) }, true],
  ['since something that is no HTTP date', { 'if-modified-since': '2027-01-01T00:00:00Z' }, false],
  ['another tag beats a matching date', { 'if-none-match': '"x"', 'if-modified-since': httpDate(at) }, false],
]
for (const [name, headers, unchanged] of cases) {
  test(`${unchanged ? '304' : '200'}: ${name}`, () => assert.equal(isUnchanged(headers, '"a"', at), unchanged))
}

test('200: if-modified-since is ignored without a modification time', () => {
  assert.equal(isUnchanged({ 'if-modified-since': httpDate(at) }, '"a"'), false)
})
