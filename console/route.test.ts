import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hrefOf, pageNames, parseRoute } from './route.ts'

const follow = (href: string) => {
  const { pathname, hash } = new URL(href, 'http://house.example')
  return parseRoute(pathname, hash)
}

test('whatever a link names is found again behind it', () => {
  for (const page of pageNames) {
    const {
      page: found,
      parts,
      query,
    } = follow(hrefOf(page, ['a/b', 'ü 1', 7], { to: 'x&y', none: '', left: undefined }))
    assert.deepEqual([found, parts, [...query]], [page, ['a/b', 'ü 1', '7'], [['to', 'x&y']]])
  }
})

test('the bare addresses are the overview and the reference', () => {
  assert.equal(parseRoute('/', '').page, 'overview')
  assert.equal(parseRoute('/docs', '').page, 'reference')
  assert.equal(hrefOf('reference'), '/docs')
})

test('a page that is not there is said not to be there; a broken escape is taken as it stands', () => {
  assert.deepEqual(parseRoute('/', '#/nope/x'), { page: 'nowhere', parts: ['nope', 'x'], query: new URLSearchParams() })
  assert.equal(parseRoute('/', '#/').page, 'overview')
  assert.deepEqual(parseRoute('/', '#/explorer/%zz').parts, ['%zz'])
})
