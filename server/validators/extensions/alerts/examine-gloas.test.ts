// Events about payloads of a recorded chain of Gloas, compared with an independent truth.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { testWebhook } from '#test/alerts-network.ts'
import { openReplay } from '#test/beacon-replay.ts'
import { openContext } from '#test/context.ts'
import { gloasRecording, gloasTruth } from '#test/gloas-recording.ts'
import { gloasTime } from '#test/gloas-replies.ts'
import { Follower } from '../../ingest/follow.ts'
import { withChainTimes } from '../../ingest/read/chain-identity.ts'
import { listDeliveries } from './deliveries.ts'
import type { DeliveryBody } from './delivery-body.ts'
import { examineEpochs } from './examine-epochs.ts'

const epochsUntil = 17
/** No payload pays this bid: too few validators voted for its block in time. */
const unpaidSlot = 133

interface FoundEvent {
  readonly slot: number
  readonly event: string
  readonly index: number
  readonly builder: number | undefined
  readonly isPaid: boolean | undefined
}

test('a payload that a builder withheld and one that its proposer built are different events', async () => {
  await using node = await openReplay({ recording: gloasRecording, more: ['debug-states'] })
  const { epochsPerHour, epochsPerDay, genesisUnix, slotSeconds } = gloasTime
  const urls = [node.url]
  const watch = Array.from({ length: 66 }, (_, index) => String(index))
  const hoodi = { epochsPerHour, epochsPerDay, watch, beacon: { urls, fromEpoch: 0 } }
  const webhooks = [{ ...testWebhook(), events: ['block_empty', 'payload_withheld'] }]
  await using plain = await openContext(
    { validators: { webhooks, networks: { hoodi } } },
    (genesisUnix + 160 * slotSeconds) * 1000,
  )
  const context = { ...plain, settings: await withChainTimes({ ...plain, clock: systemClock }) }
  const beacon = openBeacon({ network: 'hoodi', urls, timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })
  const { signal } = new AbortController()
  await new Follower(context, 'hoodi', beacon).catchUp(signal)
  while (await examineEpochs(context, 'hoodi', { signal }));
  const found = (await listDeliveries(context.ingest, 1000))
    .map(({ body }) => JSON.parse(body) as DeliveryBody)
    .flatMap(({ event, validators }) =>
      validators.flatMap(({ index, slots = [], builders, paid }) =>
        slots.map((slot, at) => {
          const [builder, isPaid] = [(builders as number[] | undefined)?.[at], (paid as boolean[] | undefined)?.[at]]
          return { slot, event, index, builder, isPaid }
        }),
      ),
    )
    .sort((a, b) => a.slot - b.slot)
  const expected = gloasTruth()
    .slots.filter(({ slot, proposed }) => proposed && slot < epochsUntil * 8)
    .flatMap(({ slot, proposer: index, payload, selfBuilt, builderIndex, transactions }): FoundEvent[] => {
      const empty = { slot, event: 'block_empty', index, builder: undefined, isPaid: undefined }
      if (payload === 'in block') return transactions === 0 ? [empty] : []
      if (payload !== 'empty') return []
      const withheld = { slot, event: 'payload_withheld', index, builder: Number(builderIndex) }
      return [selfBuilt ? empty : { ...withheld, isPaid: slot !== unpaidSlot }]
    })
  assert(expected.filter(({ event }) => event === 'payload_withheld').length > 8)
  assert.deepEqual(found, expected)
})
