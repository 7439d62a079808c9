// A second process on the same databases. It runs the action of each message `{action, id}` and replies `done` after the
// commit. `node other-process.ts <state URL or folder>`

import { HistoryWriter } from '#explorer/labels/history.ts'
import { putLabels } from '#explorer/labels/labels.ts'
import { rotateReceiptKey } from '#fx/receipts/receipt-key.ts'
import { putMarkets } from '#markets/write/put-markets.ts'
import { systemClock } from '#runtime/clock.ts'
import { systemRandom } from '#runtime/random.ts'
import { editKey, revokeKey, rotateKey } from '#storage/keys.ts'
import { openStateAndIngest } from '#storage/open.ts'

const [, , location = ''] = process.argv
const stores = await openStateAndIngest(location, location.startsWith('postgres') ? { state: location } : {})
const { state, ingest } = stores
const clock = systemClock
const actions: Record<string, (id: string) => Promise<unknown>> = {
  edit: (id) => editKey(state, id, { groups: ['markets'] }, clock),
  rotate: (id) => rotateKey(state, { id }, clock, systemRandom),
  revoke: (id) => revokeKey(state, id, clock),
  label: (slug) =>
    ingest.write((tx) => {
      const label = { chain: '1', slug, name: slug, description: '', notes: '', updatedUnix: 1_790_000_000 }
      return putLabels(new HistoryWriter(tx, { by: 'other process', via: 'a test', atMs: clock.now() }), [label])
    }),
  market: (question) =>
    ingest.write((tx) =>
      putMarkets(tx, [{ kind: 'market', id: '501', fields: { slug: 'bridge', question }, links: {} }], clock.now()),
    ),
  receipts: () => rotateReceiptKey({ state, clock, random: systemRandom }),
}
process.on('message', async ({ action, id }: { action: string; id: string }) => {
  await actions[action]?.(id)
  process.send?.('done')
})
process.on('disconnect', () => void stores.close())
process.send?.('up')
