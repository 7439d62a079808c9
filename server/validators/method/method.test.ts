// The rating method and docs/methodology.md.
import { strict as assert } from 'node:assert'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import type { Endpoint } from '#api/contract/kit.ts'
import { aggregateFields, effectivenessNumbers } from '#api/contract/wire/validators.ts'
import { complete } from '#core/schema-check.ts'
import type { Handler } from '#http/handler.ts'
import type { AppContext } from '#server/context.ts'
import { openContext, testRequestInfo } from '#test/context.ts'
import { perfect, register, writeEpochs } from '#test/validators-world.ts'
import { aggregateEffectiveness } from '../endpoints/aggregate-effectiveness.ts'
import { effectiveness } from '../endpoints/effectiveness.ts'
import { explain } from '../extensions/explain/explain.ts'
import { readRecords } from '../requests/records.ts'
import { measures } from './measures.ts'
import { aggregateFigures, type Figure, figures } from './method.ts'

const page = await readFile(new URL('../../../docs/methodology.md', import.meta.url), 'utf8')

/** The cells of the table whose header begins with these cells. */
function table(...head: string[]): string[][] {
  const start = page.indexOf(`| ${head.join(' | ')} |\n`)
  assert(start >= 0, `the page has no table ${head.join(', ')}`)
  const lines = page.slice(start).split('\n').slice(2)
  const cells = lines.slice(
    0,
    lines.findIndex((line) => !line.startsWith('|')),
  )
  return cells.map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}
const namesIn = (cell = '') => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name ?? '')

test('docs/methodology.md explains every measure and field, and no others', () => {
  const explained = table('measure', 'meaning, per epoch', 'from').flatMap(([name]) => namesIn(name))
  assert.deepEqual(explained.sort(), [...measures].sort())
  const derived = table('field', 'formula').flatMap(([name]) => namesIn(name))
  assert.deepEqual(derived.sort(), [...new Set([...aggregateFields, ...effectivenessNumbers])].sort())
})

test('the worked example has the figures that are computed from stored duties', async () => {
  const example = table('measure', 'A', 'B')
  const rowOf = (column: number) =>
    Object.fromEntries(example.map((cells) => [namesIn(cells[0])[0], Number(cells[column])]))
  await using context = await openContext()
  await writeEpochs(context, 'mainnet', { from: 0, until: 225 }, [
    { ...rowOf(1), epoch: 7, validator: 1 },
    { ...rowOf(2), epoch: 7, validator: 2 },
  ])
  const expected = table('field', 'A', 'B', 'both')
  assert.equal(expected.length, 16)
  const all: Record<string, Figure> = { ...aggregateFigures, ...figures }
  const names = expected.map(([name]) => namesIn(name)[0] ?? '')
  const wanted = Object.fromEntries(names.map((name) => [name, all[name] ?? assert.fail(name)]))
  const time = context.settings.validators.networks.mainnet
  for (const [column, validators] of [
    [1, [1]],
    [2, [2]],
    [3, [1, 2]],
  ] as const) {
    const span = { network: 'mainnet', time, isUtc: false, days: { from: 0, until: 1 }, byValidator: false } as const
    const windows = { keyOf: (day: number) => day }
    const { figures } = await readRecords(context.duties, { ...span, validators, windows }, wanted)
    for (const cells of expected) {
      const name = namesIn(cells[0])[0] ?? ''
      const value = figures[name]?.[0] as number
      assert.equal(String(Number.isNaN(value) ? null : value), cells[column], `${name} of ${validators}`)
    }
  }
})

test('every response with figures has the number of the method that docs/methodology.md describes', async () => {
  await using context = await openContext()
  await register(context, 'mainnet', [5])
  await writeEpochs(context, 'mainnet', { from: 0, until: 1 }, [{ ...perfect, epoch: 0, validator: 5 }])
  const [, version] = /^Method, version (\d+)\./m.exec(page) ?? []
  const headersOf = async (handler: Handler<Endpoint, AppContext>, input: object) => {
    const { value } = complete(handler.endpoint.input, input)
    const result = await handler.handle(value as never, context, testRequestInfo())
    return result.is === 'body' ? result.headers : undefined
  }
  const expected = { 'x-tetrad-method': version }
  assert.deepEqual(await headersOf(aggregateEffectiveness as Handler<Endpoint, AppContext>, { indices: [5] }), expected)
  assert.deepEqual(
    await headersOf(effectiveness as Handler<Endpoint, AppContext>, { validator_index_or_pubkey: '5' }),
    expected,
  )
  assert.deepEqual(
    await headersOf(explain as Handler<Endpoint, AppContext>, { validator_index_or_pubkey: '5' }),
    expected,
  )
})
