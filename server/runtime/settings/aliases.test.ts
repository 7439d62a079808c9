import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { allRoutes } from '#api/contract/routes.ts'
import { settingsWith } from '#test/context.ts'
import { readYaml } from '../config/yaml.ts'
import { aliasProblems } from './aliases.ts'

const message = (from: string, to: string) => aliasProblems({ paths: { [from]: to } })[0]?.message

test('aliases with matching placeholders are valid, also if segments are dropped or reordered', () => {
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
  ['/old/{a}', '/new/{b}', 'uses {b}, but /old/{a} has {a}; use the same names on both sides'],
  ['/old', '/new/{b}', 'uses {b}, but /old has no names; use the same names on both sides'],
  ['/old/{a}/{a}', '/new/{a}', 'has {a} twice in /old/{a}/{a}'],
  ['/old/{a}-{b}', '/v2/api', 'has two names in one segment of /old/{a}-{b}'],
  ['/old/{a-b}', '/new', 'has an invalid brace in /old/{a-b}; write {name}'],
  ['/old/{1}', '/new', 'has a name in /old/{1} that starts with a digit'],
  ['old', '/new', 'must be a path on both sides; old does not start with /'],
  ['/old', '/v2/apis', 'leads to /v2/apis, which is not a path of this server'],
  ['/old/{slug}', '/markets/slug/{slug}/x', 'leads to /markets/slug/{slug}/x, which is not a path of this server'],
  ['/old', '/new?x=1', 'must not contain a query or fragment; /new?x=1 does'],
] as const)
  test(`${from}: ${to} is refused`, () => assert.equal(message(from, to), words))

test('every invalid alias is reported with its path', () => {
  const found = aliasProblems({ paths: { '/a': '/{x}', '/b': '/v2/api', '/d': '/nowhere' } })
  assert.deepEqual(
    found.map(({ at }) => at),
    [
      ['aliases', 'paths', '/a'],
      ['aliases', 'paths', '/d'],
    ],
  )
})

test('examples/stablefx-aliases.yaml is valid, and has an alias for every path of FX', () => {
  const text = readFileSync(new URL('../../../examples/stablefx-aliases.yaml', import.meta.url), 'utf8')
  const { paths } = settingsWith(readYaml(text).value as object).aliases
  assert.deepEqual(aliasProblems({ paths }), [])
  const ofFx = Object.values(allRoutes).flatMap(({ path }) => (path.startsWith('/v1/exchange/fx/') ? [path] : []))
  assert.deepEqual(new Set(Object.values(paths)), new Set(ofFx))
  for (const [from, to] of Object.entries(paths)) assert.equal(from.replace('/stablefx/', '/fx/'), to)
})
