// Beyond the specification (decision 0049): what changed, as lists. The bytes are written here, because the values of
// fields are any JSON and integers of any size.
import { extensions } from '#api/extensions.ts'
import { stringifyJson } from '#api/json.ts'
import { answer } from '#serve/answer.ts'
import { changesAfter, changesOf, marketIdOf, marketIdsOf, startOf } from './changes.ts'
import { shape } from './shape.ts'

const bytesOf = (value: unknown): Uint8Array => Buffer.from(stringifyJson(value))

export const changesBySlug = answer(extensions['markets.changesBySlug'], shape, async (input, { state }) => {
  const id = await marketIdOf(state, input.slug)
  if (id === undefined) return { is: 'nothing' }
  const { limit, fields, related } = input
  const cursor = input.cursor === undefined ? undefined : Number(input.cursor)
  const { changes, next } = await changesOf(state, id, { cursor, limit, fields, related })
  return { is: 'bytes', bytes: bytesOf({ changes, next: next === undefined ? null : String(next) }) }
})

export const changes = answer(extensions['markets.changes'], shape, async (input, { state }) => {
  const marketIds = input.slugs && (await marketIdsOf(state, input.slugs))
  const after = await startOf(state, input.after)
  const page = await changesAfter(state, after, input.limit, { kinds: input.kinds, marketIds })
  return { is: 'bytes', bytes: bytesOf({ changes: page.changes, next: String(page.next), more: page.more }) }
})
