import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contract } from '../contract.ts'
import { extensions } from '../extensions.ts'

interface Schema {
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
}

/** Paths of fields without a description, including the fields of nested records. */
function silent(schema: Schema, path: string): string[] {
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const isRecord = field.properties !== undefined
    return [...(field.description || isRecord ? [] : [`${path}.${name}`]), ...silent(field, `${path}.${name}`)]
  })
  return [...own, ...(schema.items ? silent(schema.items, `${path}[]`) : [])]
}

test('every input and every reply field of group C has a description', () => {
  const endpoints = [...Object.values(contract), ...Object.values(extensions)].filter(({ id }) =>
    id.startsWith('validators.'),
  )
  assert.equal(endpoints.length, 7)
  const without = endpoints.flatMap(({ id, input, reply }) => [
    ...silent(input as Schema, `${id} input`),
    ...silent(reply as Schema, `${id} reply`),
  ])
  assert.deepEqual(without, [])
})
