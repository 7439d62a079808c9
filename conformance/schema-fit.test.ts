import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { allEndpoints } from '#api/contract/extensions.ts'
import { type TSchema, Type } from '#api/contract/kit.ts'
import { checker } from '#core/schema-check.ts'
import { misfits } from './schema-fit.ts'

const endpoints = Object.values(allEndpoints)
/** The keywords that `misfits` validates. */
const knownKeywords: ReadonlySet<string> = new Set([
  ...['type', 'enum', 'anyOf', 'properties', 'required', 'items', 'pattern', 'format'],
  ...['minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems'],
])
/** Annotations, which do not restrict values. */
const annotations = new Set(['description', 'default', 'title', '$id', 'x-must'])

function keywordsOf(node: unknown, isNames = false): string[] {
  if (typeof node !== 'object' || node === null) return []
  if (Array.isArray(node)) return node.flatMap((item) => keywordsOf(item))
  return Object.entries(node).flatMap(([name, member]) => [
    ...(isNames ? [] : [name]),
    ...(['enum', 'required', 'type'].includes(name) && !isNames ? [] : keywordsOf(member, name === 'properties')),
  ])
}

/** Paths to every member of a JSON value. */
function pathsOf(value: unknown, at: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) => [[...at, name], ...pathsOf(member, [...at, name])])
}

function changeAt(
  value: unknown,
  at: readonly string[],
  change: (holder: Record<string, unknown>, name: string) => void,
) {
  const copy = structuredClone(value)
  const holder = at.slice(0, -1).reduce<unknown>((value, name) => (value as Record<string, unknown>)[name], copy)
  change(holder as Record<string, unknown>, at.at(-1) ?? '')
  return copy
}

describe('misfits', () => {
  test('every keyword of the contract is validated', () => {
    const used = new Set(endpoints.flatMap(({ reply }) => keywordsOf(reply)))
    assert.deepEqual(
      [...used].filter((name) => !knownKeywords.has(name) && !annotations.has(name) && !name.startsWith('~')),
      [],
    )
  })

  for (const { id, reply, example } of endpoints) {
    test(`${id}: the example matches, and does not after any of its fields is renamed`, () => {
      assert.deepEqual(misfits(reply, example.reply), [])
      const fields = pathsOf(example.reply).filter((at) => !/^\d+$/.test(at.at(-1) ?? ''))
      assert.ok(fields.length > 0)
      for (const at of fields) {
        const renamed = changeAt(example.reply, at, (holder, name) => {
          holder[`${name}X`] = holder[name]
          delete holder[name]
        })
        assert.notDeepEqual(misfits(reply, renamed), [], at.join('.'))
      }
    })

    test(`${id}: agrees with the server's validator about any value of any field`, () => {
      const check = checker(reply)
      fc.assert(
        fc.property(fc.constantFrom(...pathsOf(example.reply)), fc.jsonValue(), (at, value) => {
          const broken = changeAt(example.reply, at, (holder, name) => {
            holder[name] = value
          })
          // The server's validator accepts unknown fields.
          const problems = misfits(reply, broken, Number.POSITIVE_INFINITY).filter(
            (problem) => !problem.endsWith('is not a field of the contract'),
          )
          assert.equal(
            problems.length === 0,
            check(broken).length === 0,
            `${at.join('.')}: ${JSON.stringify(value)} ${problems}`,
          )
        }),
        { numRuns: 300 },
      )
    })
  }

  test('integers beyond 2^53 are integers', () => {
    const schema: TSchema = Type.Integer({ minimum: 0 })
    assert.deepEqual(misfits(schema, 2n ** 70n), [])
    assert.deepEqual(misfits(schema, -(2n ** 70n)), ['reply must be at least 0'])
    assert.deepEqual(misfits(schema, 1.5), ['reply must be integer, not 1.5'])
  })

  test('a problem contains the path and the value', () => {
    const schema = Type.Object({ list: Type.Array(Type.Object({ at: Type.String({ format: 'date-time' }) })) })
    assert.deepEqual(misfits(schema, { list: [{ at: '2026-02-30T00:00:00Z' }] }), [
      'reply.list[0].at must be a date-time, not "2026-02-30T00:00:00Z"',
    ])
    assert.deepEqual(misfits(schema, { list: [{ at: '2026-02-28T00:00:00Z', by: 1 }, {}] }), [
      'reply.list[0].by is not a field of the contract',
      'reply.list[1].at is missing',
    ])
  })
})
