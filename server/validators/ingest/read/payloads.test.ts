// Envelopes that a node cannot return although the payload is part of the chain (behaviour/validators.md#nodes-that-prune-states).
import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { openNode } from '#simulator/beacon/node.ts'
import { gloasFrom } from '#simulator/beacon/plan.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { archiveOf } from '#test/client-of-run.ts'
import { simulateNetwork } from '#test/simulator/simulate-network.ts'
import { type Carry, processEpoch } from '../epochs/process-epoch.ts'
import { Sums } from '../epochs/sums.ts'
import { EpochReader } from './epoch-reader.ts'

const fork = 2
const world = simulateNetwork('envelopes', {
  ...{ epochs: 20, slotsPerEpoch: 4, validators: 28, committeesPerSlot: 1, syncSeats: 8, slotSeconds: 12 },
  ...{ forkEpochs: gloasFrom(fork), hasExecution: false, outage: { from: 0, until: 0 }, slashing: 0, missed: 0.05 },
})

/** Prysm answers with status 500 if its execution node has pruned the payload. `states`: it offers full states. */
async function openPruned(states: boolean) {
  await using cleanup = new AsyncDisposableStack()
  const pruned = { ...archiveOf('prysm'), states, envelopesFromSlot: () => Number.POSITIVE_INFINITY }
  const envelopes: number[] = []
  const intercept = ({ url = '' }: IncomingMessage) => {
    const slot = /\/execution_payload_envelopes\/(\d+)$/.exec(url)?.[1]
    if (slot !== undefined) envelopes.push(Number(slot))
    return false
  }
  const node = cleanup.use(await openNode({ ...world, intercept }, pruned))
  const urls = [node.url]
  const beacon = openBeacon({ network: 'hoodi', urls, timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })
  const { rules } = await beacon.chain()
  const opened = cleanup.move()
  return {
    ...{ rules, envelopes, reader: new EpochReader(beacon, rules) },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

test('a lasting status 500 for envelopes changes no figure, and few of them are requested', async () => {
  await using node = await openPruned(true)
  const { rules, reader, envelopes } = node
  const until = world.finalized - 1
  let carry: Carry | undefined
  let withdrawn = 0
  for (let epoch = 0; epoch < until; epoch++) {
    const sums = new Sums()
    carry = processEpoch(rules, await reader.read(epoch), carry, sums).carry
    for (const [validator, row] of world.truth.rows(epoch))
      assert.equal(sums.columns.earnings[validator] ?? 0, row.earnings ?? 0, `epoch ${epoch}, validator ${validator}`)
  }
  for (const { slot, withdrawals } of world.blocks.values())
    if (slot >= fork * rules.slotsPerEpoch && slot < until * rules.slotsPerEpoch) withdrawn += withdrawals.length
  assert(withdrawn > 10, `${withdrawn} withdrawals`)
  // A failed request is repeated a few times.
  assert(new Set(envelopes).size < 2 * (until - fork), `requested ${[...new Set(envelopes)]}`)
})

test('without full states, the epoch is not skipped, and the envelopes are requested with every attempt', async () => {
  await using node = await openPruned(false)
  const { rules, reader, envelopes } = node
  let carry: Carry | undefined
  const process = async (epoch: number) => {
    carry = processEpoch(rules, await reader.read(epoch), carry, new Sums()).carry
  }
  for (let epoch = 0; epoch < fork - 1; epoch++) await process(epoch)
  let before = 0
  for (const attempt of ['first', 'second', 'third']) {
    await assert.rejects(process(fork - 1), {
      name: 'ServerStatusError',
      message: /envelopes\/\d+ returned status 500/,
    })
    assert(envelopes.length > before, attempt)
    before = envelopes.length
  }
})
