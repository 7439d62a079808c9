// Ingests a recorded chain of Gloas and compares what explain returns about payloads and payload committees with an
// independent truth.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ExplainedDay } from '#api/contract/wire/validators-explain.ts'
import type { Range } from '#core/ranges.ts'
import { systemClock } from '#runtime/clock.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { type Exchange, openReplay } from '#test/beacon-replay.ts'
import { openContext } from '#test/context.ts'
import { gloasRecording, gloasTruth } from '#test/gloas-recording.ts'
import { bothStates, openComputed, type StatesKind } from '#test/read-states.ts'
import { withOneState } from '#test/recorded-chain.ts'
import { callHandler } from '#test/validators-world.ts'
import { coveredEpochs } from '../../duties/coverage.ts'
import { Follower } from '../../ingest/follow.ts'
import { withChainTimes } from '../../ingest/read/chain-identity.ts'
import { explain } from './explain.ts'

const firstEpoch = 4
const slotsPerEpoch = 8
/** All other builders pay: for a delivered payload, or because enough validators voted in time. No payload pays this. */
const unpaidSlot = 133

const { epochs, slots } = gloasTruth()

for (const kind of bothStates) {
  test(`payloads and payload committees, with states: ${kind}`, async () => {
    const { explained, covered } = await explainAll(kind)
    const isRated = (epoch: number) =>
      epoch >= firstEpoch && covered.some(({ from, until }) => epoch >= from && epoch < until)
    let [voteCount, blockCount] = [0, 0]
    for (let validator = 0; validator < 64; validator++) {
      const days = explained.get(validator) ?? []
      const found = new Map(days.flatMap((day) => day.epochs).map((entry) => [entry.epoch, entry]))
      const blocks = slots.filter(
        ({ slot, proposer }) => proposer === validator && isRated(Math.floor(slot / slotsPerEpoch)),
      )
      for (const { epoch, rows } of epochs.filter((entry) => isRated(entry.epoch))) {
        const { ptc = null } = rows.find((row) => row.validator === validator) ?? {}
        const isListed = ptc !== null && (!ptc.included || ptc.matchesCanonical === false)
        const expected = isListed && {
          slot: ptc.slot,
          onChain: ptc.included,
          couldBeOnChain: ptc.includable,
          payloadSeen: ptc.payloadPresent,
          blobsSeen: ptc.blobDataAvailable,
          payload: ptc.canonicalPayload ?? 'unknown',
        }
        assert.deepEqual(found.get(epoch)?.payloadVote, expected || undefined, `validator ${validator}, epoch ${epoch}`)
        voteCount += isListed ? 1 : 0
        const ofEpoch = blocks.filter(({ slot }) => Math.floor(slot / slotsPerEpoch) === epoch)
        const empty = (selfBuilt: boolean) =>
          ofEpoch.filter((block) => block.payload === 'empty' && block.selfBuilt === selfBuilt).map(({ slot }) => slot)
        assert.deepEqual(found.get(epoch)?.emptyBlocks ?? [], empty(true))
        assert.deepEqual(found.get(epoch)?.withheldPayloads ?? [], empty(false))
      }
      const proposed = blocks.filter((block) => block.proposed)
      assert.deepEqual(
        days.flatMap((day) => day.proposals ?? []),
        proposed.map(({ slot, payload, selfBuilt, builderIndex, bidValue }) => ({
          ...{ slot, payload, builder: selfBuilt ? null : Number(builderIndex), valueGwei: bidValue },
          paid: selfBuilt ? null : slot !== unpaidSlot,
        })),
      )
      blockCount += proposed.length
    }
    assert(voteCount > 200 && blockCount > 70, `${voteCount} votes, ${blockCount} blocks`)
  })
}

interface Explained {
  /** By validator. */
  readonly explained: ReadonlyMap<number, readonly ExplainedDay[]>
  readonly covered: readonly Range[]
}

async function explainAll(kind: StatesKind): Promise<Explained> {
  const meddle = kind === 'computed' ? withOneState(0) : (exchange: Exchange) => exchange
  await using node = await openReplay({ recording: gloasRecording, more: ['debug-states'], meddle })
  const windows = { epochsPerHour: 2, epochsPerDay: 4, beacon: { urls: [node.url], fromEpoch: 0 } }
  await using plain = await openContext({ validators: { networks: { hoodi: windows } } })
  const context = { ...plain, settings: await withChainTimes({ ...plain, clock: systemClock }) }
  const urls = [node.url]
  const beacon = openBeacon({ network: 'hoodi', urls, timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })
  await using computed = kind === 'computed' ? openComputed(beacon, 'all') : undefined
  await new Follower(context, 'hoodi', computed ?? beacon).catchUp(new AbortController().signal)
  const all = new Map<number, readonly ExplainedDay[]>()
  for (let validator = 0; validator < 64; validator++) {
    const input = { network: 'hoodi', validator_index_or_pubkey: String(validator), limit: 100 } as const
    all.set(validator, (await callHandler(explain, context, input)).body.results)
  }
  return { explained: all, covered: await coveredEpochs(context.duties, 'hoodi') }
}
