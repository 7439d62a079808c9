// Which section a search returns first, on a few pages that are made for each rule.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildIndex, createSearch } from './text-search.ts'

/** Pages with sections; a section without a heading is the beginning of its page. */
function searchIn(pages: Readonly<Record<string, readonly (readonly [heading: string, text: string])[]>>) {
  const names = Object.keys(pages)
  const sections = Object.values(pages).flatMap((list, page) =>
    list.map(([heading, text]) => ({
      page,
      heading: heading || (names[page] as string),
      text,
      excerpt: '',
      anchor: heading.toLowerCase(),
    })),
  )
  const index = buildIndex(
    names.map((name) => ({ path: `${name.toLowerCase()}.html`, title: name, kind: 'guide' as const })),
    sections,
  )
  const search = createSearch(index)
  return (query: string) => search(query).map(({ path, anchor }) => `${path}#${anchor}`)
}

test('a heading that many pages have does not outweigh the word that only one page has', () => {
  const settings = (text: string) => ['Settings', text] as const
  const search = searchIn({
    Agents: [['', 'tools'], settings('enabled')],
    Alerts: [['', 'webhooks'], settings('retries')],
    Console: [['', 'pages'], settings('sessions')],
    Export: [['', 'files'], settings('columns')],
    Nodes: [
      ['', 'archive'],
      ['Clients', 'erigon'],
    ],
  })
  assert.equal(search('erigon settings')[0], 'nodes.html#clients')
})

test('of two sections with the same words, that of the page about the missing word is first', () => {
  const search = searchIn({
    Keys: [
      ['', 'secret'],
      ['Times', 'expired'],
    ],
    FX: [
      ['', 'rate'],
      ['Sign', 'quote'],
      ['Answers', 'expired'],
    ],
  })
  const found = search('expired quote')
  assert.ok(found.indexOf('fx.html#answers') < found.indexOf('keys.html#times'), found.join('\n'))
})

test('a section that has no word of the query is not found, even if its page has one', () => {
  const search = searchIn({
    Rates: [
      ['', 'rate'],
      ['Pricing', 'quote'],
      ['Sources', 'feed'],
    ],
  })
  assert.deepEqual(search('quote'), ['rates.html#pricing'])
})

test('a name with separators matches as a whole, and by its parts only if no page has it', () => {
  const search = searchIn({
    Headers: [['', 'the header x-tetrad-coverage']],
    Limits: [['', 'the limit and the rate of a key']],
    Chains: [['', 'coverage of tetrad']],
  })
  assert.deepEqual(search('x-tetrad-coverage'), ['headers.html#'])
  assert.deepEqual(search('rate-limit'), ['limits.html#'])
})

test('words without a meaning of their own are ignored', () => {
  const search = searchIn({ Work: [['', 'does it work']], Geth: [['', 'geth']] })
  assert.deepEqual(search('does it work with geth'), ['geth.html#'])
})
