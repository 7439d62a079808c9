// Beyond the specification (decision 0049): what changed, as lists. The bytes are written here, because the values of
// fields are any JSON and integers of any size.
import { extensions } from '#api/extensions.ts'
import { stringifyJson } from '#api/json.ts'
import { invalid } from '#core/fault.ts'
import { answer } from '#serve/answer.ts'
import { changesAfter, changesOf, marketIdOf, marketIdsOf, startOf } from './changes.ts'
import type { MarketsContext } from './context.ts'
import { nothingIn, readSoFar } from './coverage.ts'
import { type KindName, kindNames, kinds, ownFields } from './kinds.ts'
import { shape } from './shape.ts'

/** What is repeated of a name that is refused. */
const valueCharsMax = 100

const bytesOf = (value: unknown): Uint8Array => Buffer.from(stringifyJson(value))

export const changesBySlug = answer(
  extensions['markets.changesBySlug'],
  shape,
  async (input, context: MarketsContext) => {
    const { state } = context
    refuseUnknown(input.fields, input.related)
    const read = await readSoFar(context)
    const id = await marketIdOf(state, input.slug)
    if (id === undefined) return nothingIn(state, read, input.slug)
    const { limit, fields, related } = input
    const cursor = input.cursor === undefined ? undefined : Number(input.cursor)
    const { changes, next } = await changesOf(state, id, { cursor, limit, fields, related })
    return { is: 'bytes', bytes: bytesOf({ changes, next: next === undefined ? null : String(next) }) }
  },
)

export const changes = answer(extensions['markets.changes'], shape, async (input, { state }) => {
  const marketIds = input.slugs && (await marketIdsOf(state, input.slugs))
  const after = await startOf(state, input.after)
  const page = await changesAfter(state, after, input.limit, { kinds: input.kinds, marketIds })
  return { is: 'bytes', bytes: bytesOf({ changes: page.changes, next: String(page.next), more: page.more }) }
})

/** A name that no change can have would be answered with nothing for ever. */
function refuseUnknown(fields: readonly string[] = [], related: boolean): void {
  const known = related ? shownFields : marketFields
  const at = fields.findIndex((name) => !known.has(name))
  if (at < 0) return
  const whose = related ? 'or of a record it shows' : '(with related=true also of the records it shows)'
  const says = `must be a field of the market ${whose}, such as outcomePrices, bestBid or closed`
  throw invalid(['query', 'fields', String(at)], says, fields[at]?.slice(0, valueCharsMax))
}

const fieldsOf = (kind: KindName): string[] => [...ownFields[kind], ...Object.keys(kinds[kind].links)]
const marketFields: ReadonlySet<string> = new Set(fieldsOf('market'))
const shownFields: ReadonlySet<string> = new Set(kindNames.flatMap(fieldsOf))
