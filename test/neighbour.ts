// Another process on the same state: does what it is told, `{what, id}`, and answers `done` when it is committed.
// `node neighbour.ts <state url, or a folder>`
import { putLabels } from '#groups/explorer/labels.ts'
import { Book } from '#groups/explorer/labels-history.ts'
import { rotateReceiptKey } from '#groups/fx/receipt-key.ts'
import { putMarkets } from '#groups/markets/records.ts'
import { systemClock } from '#io/clock.ts'
import { systemRandom } from '#io/random.ts'
import { editKey, revokeKey, rotateKey } from '#store/keys.ts'
import { openState } from '#store/open.ts'

const [, , place = ''] = process.argv
const state = await openState(place, place.startsWith('postgres') ? { state: place } : {})
const clock = systemClock
const deeds: Record<string, (id: string) => Promise<unknown>> = {
  edit: (id) => editKey(state, id, { groups: ['markets'] }, clock),
  rotate: (id) => rotateKey(state, { id }, clock, systemRandom),
  revoke: (id) => revokeKey(state, id, clock),
  label: (slug) =>
    state.write((tx) => {
      const label = { chain: '1', slug, name: slug, description: '', notes: '', updatedUnix: 1_790_000_000 }
      return putLabels(new Book(tx, { by: 'neighbour', via: 'a test', atMs: clock.now() }), [label])
    }),
  market: (question) =>
    state.write((tx) =>
      putMarkets(tx, [{ kind: 'market', id: '501', fields: { slug: 'bridge', question }, links: {} }], clock.now()),
    ),
  receipts: () => rotateReceiptKey({ state, clock, random: systemRandom }),
}
process.on('message', async ({ what, id }: { what: string; id: string }) => {
  await deeds[what]?.(id)
  process.send?.('done')
})
process.on('disconnect', () => void state.close())
process.send?.('up')
