import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hrefOf, pageNames, parseRoute } from './route.ts'

const parseHref = (href: string) => parseRoute(new URL(href, 'http://tetrad.example').hash)

test('parsing a link returns the page, segments and query it was built from', () => {
  for (const page of pageNames) {
    const {
      page: parsedPage,
      parts,
      query,
    } = parseHref(hrefOf(page, ['a/b', 'ü 1', 7], { to: 'x&y', none: '', left: undefined, each: ['1', '2'] }))
    assert.deepEqual([parsedPage, parts], [page, ['a/b', 'ü 1', '7']])
    assert.deepEqual([...query].join(' '), 'to,x&y each,1 each,2')
  }
})

test('an address without a fragment opens the overview', () => {
  assert.equal(parseRoute('').page, 'overview')
})

test('an unknown page is "not-found"; an invalid percent escape is kept as text', () => {
  assert.deepEqual(parseRoute('#/nope/x'), {
    page: 'not-found',
    parts: ['nope', 'x'],
    query: new URLSearchParams(),
  })
  assert.equal(parseRoute('#/').page, 'overview')
  assert.deepEqual(parseRoute('#/explorer/%zz').parts, ['%zz'])
})
