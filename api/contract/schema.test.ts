import assert from 'node:assert/strict'
import { test } from 'node:test'
import TypeBox from 'typebox'
import { Type } from './schema.ts'

const schemasOf = (typebox: typeof Type) => {
  const named = typebox.String({ pattern: '^a', description: 'a text' })
  const members = {
    list: typebox.Array(typebox.Integer({ minimum: 1 }), { maxItems: 3 }),
    flag: typebox.Optional(typebox.Boolean()),
    number: typebox.Number(),
    names: typebox.Optional(typebox.Record(typebox.String(), named, { description: 'names' })),
    either: typebox.Union([named, typebox.Unknown()], { description: 'either' }),
    any: typebox.Unknown({ description: 'anything' }),
    fixed: typebox.Unsafe<'x'>({ type: 'string', enum: ['x'] }),
  }
  return [
    typebox.Object(members, { additionalProperties: false }),
    typebox.Object({ only: typebox.Optional(named) }),
    typebox.Object({}),
    // A copy of an optional schema is required.
    typebox.Object({ copied: { ...typebox.Optional(named) } }),
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
