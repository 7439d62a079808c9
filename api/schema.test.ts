import assert from 'node:assert/strict'
import { test } from 'node:test'
import TypeBox from 'typebox'
import { Type } from './schema.ts'

const schemasOf = (library: typeof Type) => {
  const named = library.String({ pattern: '^a', description: 'a text' })
  const members = {
    list: library.Array(library.Integer({ minimum: 1 }), { maxItems: 3 }),
    flag: library.Optional(library.Boolean()),
    number: library.Number(),
    names: library.Optional(library.Record(library.String(), named, { description: 'names' })),
    either: library.Union([named, library.Unknown()], { description: 'either' }),
    any: library.Unknown({ description: 'anything' }),
    own: library.Unsafe<'x'>({ type: 'string', enum: ['x'] }),
  }
  return [
    library.Object(members, { additionalProperties: false }),
    library.Object({ only: library.Optional(named) }),
    library.Object({}),
    // A copy of an optional schema is required.
    library.Object({ copied: { ...library.Optional(named) } }),
  ]
}

test('The functions create the same schemas as TypeBox, with members in the same order', () => {
  assert.equal(JSON.stringify(schemasOf(Type)), JSON.stringify(schemasOf(TypeBox)))
})

test('An optional schema is a copy: the original stays required', () => {
  const text = Type.String()
  Type.Optional(text)
  assert.deepEqual(Type.Object({ text }).required, ['text'])
})
