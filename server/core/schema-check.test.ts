import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contract } from '#api/contract/contract.ts'
import { extensions } from '#api/contract/extensions.ts'
import { PatternText, Type, withDefault } from '#api/contract/kit.ts'
import { fxSettings } from '#runtime/settings/fx.ts'
import { SettingsSchema } from '#runtime/settings.ts'
import { checker, complete, fillDefaults } from './schema-check.ts'

const Inner = withDefault(
  Type.Object(
    { port: withDefault(Type.Integer({ minimum: 0 }), 80), name: Type.Optional(Type.String()) },
    { additionalProperties: false },
  ),
  {} as never,
)
const Outer = Type.Object(
  { inner: Inner, list: withDefault(Type.Array(Type.String()), ['a']), id: Type.String() },
  { additionalProperties: false },
)

test('defaults are filled in at every depth, and given values are kept', () => {
  assert.deepEqual(complete(Outer, { id: 'x' }), { value: { inner: { port: 80 }, list: ['a'], id: 'x' }, problems: [] })
  assert.deepEqual(complete(Outer, { id: 'x', inner: { name: 'n' }, list: [] }).value, {
    inner: { name: 'n', port: 80 },
    list: [],
    id: 'x',
  })
})

test('all ways of filling in defaults give the same result', () => {
  const checked: Record<string, unknown> = {}
  assert.deepEqual(checker(SettingsSchema)(checked), [])
  assert.deepEqual(complete(SettingsSchema, {}).value, checked)
  assert.deepEqual(fillDefaults(SettingsSchema, {}), checked)
  for (const value of [{ id: 'x' }, { id: 'x', inner: { name: 'n' }, list: [] }, { id: 'x', list: ['b'] }])
    assert.deepEqual(fillDefaults(Outer, value), complete(Outer, value).value)
  const List = Type.Array(Inner)
  assert.deepEqual(fillDefaults(List, [{}, { port: 1 }]), complete(List, [{}, { port: 1 }]).value)
})

test('a default is never shared between two values', () => {
  const one = complete(Outer, { id: '1' }).value
  one.list.push('changed')
  assert.deepEqual(complete(Outer, { id: '2' }).value.list, ['a'])
})

test('every problem has its full path', () => {
  const { problems } = complete(Outer, { inner: { port: -1, nam: 1 }, list: 7, other: true })
  assert.deepEqual(problems.map(({ at, message }) => `${at.join('.')} ${message}`).sort(), [
    'id is required',
    'inner.nam is not a known name',
    'inner.port must be at least 0',
    'list must be array',
    'other is not a known name',
  ])
  assert.deepEqual(
    complete(Outer, 7).problems.map(({ message }) => message),
    ['must be object'],
  )
})

test('the secret of a key is removed from repeated values', () => {
  const [problem] = checker(Type.String({ maxLength: 3 }))('tetrad:demo:verysecret')
  assert.equal(problem?.value, 'tetrad:demo:…')
})

test('every pattern in the contract and in the FX settings has a description', () => {
  const [problem] = checker(PatternText('^[a-z]+$', 'be small letters'))('A')
  assert.equal(problem?.message, 'must be small letters')
  const [untold] = checker(Type.String({ pattern: '^[a-z]+$' }))('A')
  assert.equal(untold?.message, 'must match ^[a-z]+$')
  const wordless: string[] = []
  const walk = (node: unknown, path: string): void => {
    if (typeof node !== 'object' || node === null) return
    if ('pattern' in node && typeof node.pattern === 'string' && !('x-must' in node)) wordless.push(path)
    for (const [name, member] of Object.entries(node)) walk(member, `${path}.${name}`)
  }
  for (const { id, input } of Object.values({ ...contract, ...extensions })) walk(input.properties, id)
  walk(fxSettings, 'fx')
  assert.deepEqual(wordless, [])
})

test('impossible times are not valid date-times, with or without a zone', () => {
  const timeOf = checker(Type.String({ format: 'date-time' }))
  for (const text of ['2026-11-15T18:00:00Z', '2026-11-15 18:00', '2026-11-15T18:00:00.5+0100']) {
    assert.deepEqual(timeOf(text), [], text)
  }
  for (const text of ['2026-11-15T25:00:00Z', '2026-11-15T24:00:00', '2026-02-30T00:00:00Z', '2026-11-15T18:00:61Z']) {
    assert.equal(timeOf(text)[0]?.message, 'must be a valid date-time', text)
  }
})
