import assert from 'node:assert/strict'
import { test } from 'node:test'
import { consolePages } from '#shared/console-pages.ts'
import { hrefOf, isPagePath, pageNames, parseRoute, upgradeAddress } from './route.ts'

test('parsing a link returns the page, segments and query it was built from', () => {
  // The start page has neither segments nor a name in its address.
  for (const page of pageNames.filter((name) => name !== 'home')) {
    const longest = Math.max(...consolePages[page].map((path) => path.split('/').length - 2))
    const sent = page === 'markets' ? ['a/b', 'event', 'ü 1'] : ['a/b ü', 7].slice(0, longest)
    const {
      page: parsedPage,
      parts,
      query,
    } = parseRoute(hrefOf(page, sent, { to: 'x&y', none: '', left: undefined, each: ['1', '2'] }))
    assert.deepEqual([parsedPage, parts], [page, sent.map(String)])
    assert.deepEqual([...query].join(' '), 'to,x&y each,1 each,2')
  }
})

test('an address without a path opens the start page', () => {
  for (const address of ['', '/', '/?utm=1', '/#/', '#']) assert.equal(parseRoute(address).page, 'home', address)
  assert.equal(hrefOf('home'), '/')
})

test('an unknown page is "not-found"; an invalid percent escape is kept as text', () => {
  for (const address of ['#/nope/x', '/nope/x'])
    assert.deepEqual(parseRoute(address), { page: 'not-found', parts: ['nope', 'x'], query: new URLSearchParams() })
  assert.deepEqual(parseRoute('/explorer/%zz').parts, ['%zz'])
  for (const address of ['/validators/12/x', '/fx/1/2', '/overview/x', '//fx'])
    assert.equal(parseRoute(address).page, 'not-found', address)
  assert.deepEqual(parseRoute('/validators/'), parseRoute('/validators'))
})

test('an address with the page in the fragment opens the same page, and is replaced by that of today', () => {
  for (const [old, today] of [
    ['/#/validators/12?network=hoodi', '/validators/12?network=hoodi'],
    ['/?utm=1#/markets/a%2Fb/event/c', '/market/a%2Fb/event/c'],
    ['/#/explorer', '/explorer'],
    ['/fx#/keys', '/keys'],
  ] as const) {
    assert.deepEqual(parseRoute(old), parseRoute(today))
    assert.equal(upgradeAddress(old), today)
  }
})

test('an address keeps its fragment if the server has no such path, or if it has the token of a sign-in link', () => {
  for (const address of ['/#/sign-in/link_abc', '/#/nope', '/#/fx/1/2', '/fx', '/', '/#main'])
    assert.equal(upgradeAddress(address), undefined, address)
  assert.deepEqual(parseRoute('/#/sign-in/link_abc').parts, ['link_abc'])
})

test('only the addresses of pages are opened within the console', () => {
  const isPage = Object.fromEntries(
    ['/', '/fx', '/fx/1', '/fx/1/2', '/market/x/event/y', '/markets', '/markets/12', '/docs/', '/v1/x'].map((path) => [
      path,
      isPagePath(path),
    ]),
  )
  assert.deepEqual(
    Object.keys(isPage).filter((path) => isPage[path]),
    ['/', '/fx', '/fx/1', '/market/x/event/y'],
  )
})
