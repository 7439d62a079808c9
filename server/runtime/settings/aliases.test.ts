import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aliasProblems } from './aliases.ts'

const message = (from: string, to: string) => aliasProblems({ paths: { [from]: to } })[0]?.message

test('aliases whose names match are right, also when a segment is dropped or turned around', () => {
  for (const [from, to] of [
    ['/gamma/{slug}', '/markets/slug/{slug}'],
    ['/old', '/v2/api'],
    ['/{a}/{b}', '/{b}/slug/{a}'],
    ['/today', '/markets/slug/will-it-rain'],
    ['/alive', '/healthz'],
    ['/old/{a}', '/v2/api'],
  ] as const)
    assert.equal(message(from, to), undefined, from)
})

for (const [from, to, words] of [
  ['/old/{a}', '/new/{b}', 'leads to {b}, but /old/{a} names {a}; use the same name on both sides'],
  ['/old', '/new/{b}', 'leads to {b}, but /old names nothing; use the same name on both sides'],
  ['/old/{a}/{a}', '/new/{a}', 'names {a} twice in /old/{a}/{a}'],
  ['/old/{a}-{b}', '/v2/api', 'has two names in one segment of /old/{a}-{b}'],
  ['/old/{a-b}', '/new', 'has a brace in /old/{a-b} that names nothing; write {name}'],
  ['/old/{1}', '/new', 'has a name in /old/{1} that begins with a digit'],
  ['old', '/new', 'must lead from one path to another; old does not begin with /'],
  ['/old', '/v2/apis', 'leads to /v2/apis, which is no path of this server'],
  ['/old/{slug}', '/markets/slug/{slug}/x', 'leads to /markets/slug/{slug}/x, which is no path of this server'],
  ['/old', '/new?x=1', 'must be paths alone; /new?x=1 has a query'],
] as const)
  test(`${from}: ${to} is refused`, () => assert.equal(message(from, to), words))

test('every wrong alias is told, each at its place', () => {
  const found = aliasProblems({ paths: { '/a': '/{x}', '/b': '/v2/api', '/d': '/nowhere' } })
  assert.deepEqual(
    found.map(({ at }) => at),
    [
      ['aliases', 'paths', '/a'],
      ['aliases', 'paths', '/d'],
    ],
  )
})
