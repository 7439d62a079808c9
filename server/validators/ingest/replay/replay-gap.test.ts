// Fills gaps of simulated networks from their blocks, and compares every figure with the one from the true states.
// Simulated committees do not follow RANDAO, so they are passed in; those of a recorded chain are computed.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { presentForks } from '#simulator/beacon/plan.ts'
import type { SimulatedBlock, Snapshot } from '#simulator/beacon/records.ts'
import type { Block, Payload } from '#sources/beacon/block.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { type ConsensusRules, epochAt } from '#sources/beacon/consensus.ts'
import type { TransitionState } from '#sources/beacon/transition-state.ts'
import type { Validators } from '#sources/beacon/validators.ts'
import { openReplay } from '#test/beacon-replay.ts'
import { openNodeOfRun } from '#test/client-of-run.ts'
import { type CompletedNetwork, simulateNetwork } from '#test/simulator/simulate-network.ts'
import { type Carry, processEpoch } from '../epochs/process-epoch.ts'
import { Sums } from '../epochs/sums.ts'
import type { EpochData } from '../read/epoch.ts'
import { EpochReader } from '../read/epoch-reader.ts'
import type { ComputedDuties } from './compute-duties.ts'
import { type Gap, replayGap } from './replay-gap.ts'

interface ReadChain {
  readonly rules: ConsensusRules
  /** Read with all states. */
  readonly epochs: readonly EpochData[]
}

/** All finalized epochs of a network, from a node that has all states. */
async function readChain(network: CompletedNetwork): Promise<ReadChain> {
  await using node = await openNodeOfRun(network)
  const beacon = openBeacon({ network: 'hoodi', urls: [node.url], timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })
  const { rules } = await beacon.chain()
  const reader = new EpochReader(beacon, rules)
  const epochs: EpochData[] = []
  for (let epoch = 0; epoch < network.finalized - 1; epoch++) epochs.push(await reader.read(epoch))
  return { rules, epochs }
}

/** The duties of the simulated chain. */
const dutiesOf = ({ epochs }: ReadChain): ComputedDuties => ({
  committees: (epoch) => (epochs[epoch] as EpochData).committees,
  proposers: (epoch) => (epochs[epoch] as EpochData).proposers,
  syncCommittee: (epoch) => epochs[epoch]?.sync.now ?? (epochs[epoch - 1] as EpochData).sync.next,
})

/** What the SSZ of a simulated state does not have. */
function transitionAt({ epochs, snapshots }: CompletedNetwork, rules: ConsensusRules, epoch: number): TransitionState {
  const firstOf = (at: number) => epochs[at]?.states[0] as Snapshot
  const lastOf = (at: number) => epochs[at]?.states.at(-1) as Snapshot
  const slashings = new Float64Array(rules.slashingsVector)
  for (let slot = 1; slot <= epoch * rules.slotsPerEpoch; slot++) {
    const at = epochAt(rules, slot) % slashings.length
    if (slot % rules.slotsPerEpoch === 0) slashings[at] = 0
    const before = (snapshots[slot - 1] as Snapshot).validators
    ;(snapshots[slot] as Snapshot).validators.forEach(({ slashed, effective }, index) => {
      if (slashed && !before[index]?.slashed) slashings[at] = (slashings[at] as number) + Number(effective)
    })
  }
  /** Whether two thirds voted for the target of an epoch, as of the end of an epoch. */
  const hasTarget = (end: number, which: 'previous' | 'current') => {
    const voted = which === 'current' ? end : end - 1
    if (end < 2 || end >= epoch) return false
    const { validators } = lastOf(end)
    const stakeOf = (list: typeof validators) => list.reduce((sum, { effective }) => sum + effective, 0n)
    const active = (at: number) => validators.filter(({ activation, exit }) => activation <= at && at < exit)
    const voters = active(voted).filter((validator) => !validator.slashed && (validator[which] & 2) !== 0)
    return stakeOf(voters) * 3n >= stakeOf(active(end)) * 2n
  }
  return {
    justification: {
      bits: [1, 2, 3, 4].map((ago) => hasTarget(epoch - ago, 'current') || hasTarget(epoch - ago + 1, 'previous')),
      previousJustified: firstOf(epoch - 1).justified,
      currentJustified: firstOf(epoch).justified,
      finalized: firstOf(epoch).finalized,
    },
    slashings,
    depositBalanceToConsume: 0,
    syncCommittees: { now: new Uint32Array(), next: new Uint32Array() },
  }
}

const blockReader =
  ({ rules, epochs }: ReadChain): Gap['readBlocks'] =>
  async (epoch) => {
    const { blocks } = (epochs[epoch] ?? epochs[epoch - 1]) as EpochData
    return blocks.filter(({ slot }) => epochAt(rules, slot) === epoch)
  }

/** The gap without the states of epochs from + 1 to until − 1. */
function gapOf(network: CompletedNetwork, chain: ReadChain, from: number, until: number): Gap {
  const { rules, epochs } = chain
  const last = epochs[until - 1] as EpochData
  const { finalized: finalizedEpoch } = network.snapshots[until * rules.slotsPerEpoch] as Snapshot
  return {
    before: {
      epoch: from,
      validators: (epochs[from] as EpochData).atStart,
      transition: transitionAt(network, rules, from),
    },
    after: { epoch: until, validators: last.atEnd, finalizedEpoch },
    finalizedAfter: last.finalizedEpoch,
    readBlocks: blockReader(chain),
    duties: dutiesOf(chain),
  }
}

/** The stored figures of each epoch. `epochs` starts at epoch `from`. */
function figuresOf(rules: ConsensusRules, epochs: readonly EpochData[], before: Carry | undefined) {
  let carry = before
  return epochs.map((data) => {
    const sums = new Sums()
    const processed = processEpoch(rules, data, carry, sums)
    carry = processed.carry
    return { carry, sums: sums.take(() => true), unexplained: processed.unexplainedBalanceChanges }
  })
}

/** Fills a gap and compares all its figures with those from the true states. */
async function assertFilled(chain: ReadChain, gap: Gap): Promise<readonly EpochData[]> {
  const { from, until } = { from: gap.before.epoch, until: gap.after.epoch }
  const epochs = await replayGap(chain.rules, gap)
  assert.deepEqual(
    epochs.map(({ epoch }) => epoch),
    Array.from({ length: until - from }, (_, at) => from + at),
  )
  assert.equal(epochs.at(-1)?.atEnd, gap.after.validators)
  const truth = figuresOf(chain.rules, chain.epochs, undefined)
  const figures = figuresOf(chain.rules, epochs, truth[from - 1]?.carry)
  figures.forEach(({ sums, unexplained }, at) => {
    assert.deepEqual(sums, truth[from + at]?.sums, `epoch ${from + at}`)
    assert.deepEqual(unexplained, truth[from + at]?.unexplained, `epoch ${from + at}`)
  })
  epochs.forEach(({ finalizedEpoch }, at) => {
    assert.equal(finalizedEpoch, chain.epochs[from + at]?.finalizedEpoch)
  })
  return epochs
}

/** What happened between two states of a simulated chain. */
function eventsIn({ snapshots, blocks }: CompletedNetwork, rules: ConsensusRules, from: number, until: number) {
  const events = new Set<string>()
  for (let slot = from * rules.slotsPerEpoch + 1; slot <= until * rules.slotsPerEpoch; slot++) {
    const [before, now] = [snapshots[slot - 1] as Snapshot, snapshots[slot] as Snapshot]
    if (blocks.get(slot)?.withdrawals.length) events.add('withdrawal')
    if (now.validators.length > before.validators.length) events.add('new validator')
    if (now.queue.length < before.queue.length) events.add('queued deposit')
    if (now.consolidations.length < before.consolidations.length) events.add('consolidation')
    now.validators.forEach((validator, index) => {
      const old = before.validators[index]
      if (!old) return
      if (validator.slashed && !old.slashed) events.add('slashing')
      if (validator.exit !== old.exit) events.add('exit')
      if (validator.activation !== old.activation) events.add('activation')
      if (validator.effective !== old.effective) events.add('effective balance')
      if (validator.score > 0n) events.add('inactivity score')
      const isTransition = slot % rules.slotsPerEpoch === 0
      const due = slot / rules.slotsPerEpoch - 1 + rules.slashingsVector / 2
      if (isTransition && validator.slashed && validator.withdrawable === due) events.add('correlated penalty')
    })
  }
  return events
}

const deneb = { altair: 0, bellatrix: 0, capella: 0, deneb: 0 }
const lively = { epochs: 20, slashing: 0.05, balanceChanges: 0.3, missed: 0.08, orphaned: 0.05 }
const outages = { without: { from: 0, until: 0 }, with: { from: 5, until: 11 } }

/** Gaps of 1 to 12 missing states at different places of the chain. */
function* drawGaps({ epochs }: ReadChain): Generator<[from: number, until: number]> {
  for (let missing = 1; missing <= 12; missing++) {
    const starts = epochs.length - missing - 1
    const from = 1 + ((missing * 5) % starts)
    yield [from, from + missing + 1]
  }
}

for (const [name, outage] of Object.entries(outages)) {
  test(`every gap of 1 to 12 states is filled with the true figures, ${name} an outage`, async () => {
    const network = simulateNetwork(`gap ${name}`, { ...lively, forkEpochs: deneb, outage })
    const chain = await readChain(network)
    const events = new Set<string>()
    for (const [from, until] of drawGaps(chain)) {
      await assertFilled(chain, gapOf(network, chain, from, until))
      for (const event of eventsIn(network, chain.rules, from, until)) events.add(event)
    }
    const expected = [
      'activation',
      'correlated penalty',
      'effective balance',
      'exit',
      'new validator',
      'slashing',
      'withdrawal',
    ]
    const scores = outage.until > 0 ? ['inactivity score'] : []
    assert.deepEqual([...events].sort(), [...expected, ...scores].sort())
  })
}

test('gaps with queued deposits are filled with the true figures', async () => {
  const network = simulateNetwork('gap queue 3', {
    ...{ ...lively, epochs: 22, slashing: 0, balanceChanges: 0.08 },
    ...{ forkEpochs: presentForks, outage: outages.without },
  })
  const chain = await readChain(network)
  const events = new Set<string>()
  for (const [from, until] of drawGaps(chain)) {
    await assertFilled(chain, gapOf(network, chain, from, until))
    for (const event of eventsIn(network, chain.rules, from, until)) events.add(event)
  }
  assert.deepEqual([...events].sort(), ['activation', 'exit', 'new validator', 'queued deposit', 'withdrawal'])
})

test('a gap stays if the chain follows other rules, and the error names the first difference', async () => {
  const network = simulateNetwork('gap with', { ...lively, forkEpochs: deneb, outage: outages.with })
  const chain = await readChain(network)
  const gap = gapOf(network, chain, 3, 14)
  await assertFilled(chain, gap)
  const { rules } = chain
  const others: Partial<ConsensusRules>[] = [
    { baseRewardFactor: 65 },
    { scoreBias: 5 },
    { leakAfterEpochs: 3 },
    { slashingMultiplier: { altair: 2, bellatrix: 2 } },
    { hysteresis: { ...rules.hysteresis, down: 0 } },
    { effectiveMax: { ...rules.effectiveMax, phase0: 31_000_000_000 } },
  ]
  for (const other of others) {
    await assert.rejects(
      replayGap({ ...rules, ...other }, gap),
      (error: Error) => {
        assert.equal(error.name, 'ReplayError')
        assert.match(
          error.message,
          /^the states of epochs 4 to 13 cannot be computed from blocks: at the first slot of epoch/,
        )
        assert.match(
          error.message,
          /the (balance|effective balance) in (gwei|increments) of validator \d+ would be \d+, but/,
        )
        return true
      },
      Object.keys(other)[0],
    )
  }
})

test('the upgrade to Electra is not computed', async () => {
  const network = simulateNetwork('gap upgrade', {
    ...lively,
    forkEpochs: { ...deneb, electra: 5 },
    outage: outages.without,
  })
  const chain = await readChain(network)
  const upgrade = /epoch 5: the upgrade to Electra cannot be computed/
  await assert.rejects(replayGap(chain.rules, gapOf(network, chain, 3, 6)), upgrade)
})

/** A network, one of its gaps, and the same gap with alterations. */
async function openAlteredGap() {
  const network = simulateNetwork('gap altered', { ...lively, forkEpochs: deneb, outage: outages.without })
  const chain = await readChain(network)
  const gap = gapOf(network, chain, 4, 9)
  await assertFilled(chain, gap)
  const withAfter = (change: Partial<Gap['after']>): Gap => ({ ...gap, after: { ...gap.after, ...change } })
  const withBlock = (slot: number, change: (block: Block) => Block[]): Gap => ({
    ...gap,
    readBlocks: async (epoch) =>
      (await gap.readBlocks(epoch)).flatMap((block) => (block.slot === slot ? change(block) : [block])),
  })
  return { network, chain, gap, withAfter, withBlock }
}

test('every altered part of the state after the gap leaves the gap', async () => {
  const { chain, gap, withAfter } = await openAlteredGap()
  const { validators } = gap.after
  const changed = <T extends Float64Array | Uint32Array | Uint8Array>(
    column: T | undefined,
    at: number,
    by: number,
  ): T => {
    const copy = column?.slice() as T
    copy[at] = (copy[at] as number) + by
    return copy
  }
  const alterations: [change: Partial<Validators>, message: RegExp][] = [
    [{ balance: changed(validators.balance, 7, 1) }, /the balance in gwei of validator 7 would be/],
    [{ increments: changed(validators.increments, 3, 1) }, /the effective balance in increments of validator 3 would/],
    [
      { slashed: changed(validators.slashed, 5, validators.slashed[5] === 1 ? -1 : 1) },
      /validator 5 (becomes|is no longer) slashed/,
    ],
    [
      { credentials: changed(validators.credentials, 2 * 32 + 31, 1) },
      /the withdrawal credentials of validator 2 change/,
    ],
    [
      { scores: changed(validators.scores, 9, 1) },
      /the inactivity score of validator 9 would be 0, but the node has 1/,
    ],
    [{ pubkeys: changed(validators.pubkeys, 6 * 48, 1) }, /the public key of validator 6 changes/],
    [{ activation: changed(validators.activation, 8, 1) }, /validator 8 changes its activation epoch/],
    [{ count: 3 }, /the registry shrinks from \d+ to 3 validators/],
    [{ scores: undefined }, /the full state of the node is needed/],
    [{ pending: { deposits: new Uint8Array(192), consolidations: new Uint8Array() } }, /the queue of pending deposits/],
  ]
  for (const [change, message] of alterations)
    await assert.rejects(replayGap(chain.rules, withAfter({ validators: { ...validators, ...change } })), message)
  const finality = withAfter({ finalizedEpoch: gap.after.finalizedEpoch + 1 })
  await assert.rejects(replayGap(chain.rules, finality), /the finalized epoch would be \d+, but the node has/)
})

test('every altered part of a block leaves the gap', async () => {
  const { network, chain, withBlock } = await openAlteredGap()
  const { slotsPerEpoch } = chain.rules
  const { slot } = network.blocks
    .values()
    .find((block) => block.slot > 5 * slotsPerEpoch && block.attestations.length > 0) as SimulatedBlock
  const { validators } = network.snapshots.at(-1) as Snapshot
  const slashable = validators.findIndex(({ slashed, exit }) => !slashed && exit === Number.POSITIVE_INFINITY)
  const flip = (bits: Uint8Array) => bits.map((byte, at) => (at === 0 ? byte ^ 1 : byte))
  const alterations: [change: (block: Block) => Block[], message: RegExp][] = [
    [() => [], /the node lacks blocks between them/],
    [
      (block) => [{ ...block, proposer: block.proposer + 1 }],
      /the proposer of the block is validator \d+, but the duty is of \d+/,
    ],
    [(block) => [{ ...block, syncBits: flip(block.syncBits) }], /the balance in gwei of validator/],
    [(block) => [{ ...block, attestations: [] }], /the balance in gwei of validator/],
    [(block) => [{ ...block, proposerSlashings: [slashable] }], /the balance in gwei of validator/],
    [
      (block) => [{ ...block, deposits: [...block.deposits, { pubkey: validators[1]?.pubkey ?? '', amount: 1 }] }],
      /validator 1 /,
    ],
    [
      (block) => [{ ...block, payload: { ...(block.payload as Payload), withdrawals: [{ validator: 4, amount: 9 }] } }],
      /the balance in gwei of validator/,
    ],
  ]
  for (const [change, message] of alterations)
    await assert.rejects(
      replayGap(chain.rules, withBlock(slot, change)),
      { name: 'ReplayError', message },
      change.toString(),
    )
})

test('a gap of a recorded chain is filled with computed committees and proposers', async () => {
  await using node = await openReplay({ derived: true })
  const beacon = openBeacon({ network: 'hoodi', urls: [node.url], timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })
  const { rules } = await beacon.chain()
  const reader = new EpochReader(beacon, rules)
  const epochs: EpochData[] = []
  // No validator has an inactivity score, because the chain was always final.
  const withScores = (validators: Validators) => ({ ...validators, scores: new Float64Array(validators.count) })
  for (let epoch = 0; epoch < 13; epoch++) epochs.push(await reader.read(epoch))
  const checkpoints = async (epoch: number) => {
    const response = await fetch(`${node.url}/eth/v1/beacon/states/${epoch * 8}/finality_checkpoints`)
    const { data } = (await response.json()) as { data: Record<string, { epoch: string }> }
    return (name: string) => Number(data[name]?.epoch)
  }
  const lengths = new Set<number>()
  for (const [from, until] of [
    [1, 3],
    [1, 13],
    [4, 6],
    [5, 9],
    [6, 13],
    [7, 12],
  ] as const) {
    const [before, after] = [await checkpoints(from), await checkpoints(until)]
    const justified = new Set<number>()
    for (let epoch = 0; epoch <= from; epoch++) justified.add((await checkpoints(epoch))('current_justified'))
    const [first, last] = [epochs[from] as EpochData, epochs[until - 1] as EpochData]
    const period = (Math.floor(from / rules.epochsPerSyncPeriod) + 1) * rules.epochsPerSyncPeriod
    await assertFilled(
      { rules, epochs },
      {
        before: {
          epoch: from,
          validators: withScores(first.atStart),
          transition: {
            justification: {
              bits: [1, 2, 3, 4].map((ago) => from - ago > 0 && justified.has(from - ago)),
              previousJustified: before('previous_justified'),
              currentJustified: before('current_justified'),
              finalized: before('finalized'),
            },
            slashings: new Float64Array(rules.slashingsVector),
            depositBalanceToConsume: 0,
            syncCommittees: {
              now: Uint32Array.from(first.sync.now),
              next: Uint32Array.from(epochs[period]?.sync.now ?? []),
            },
          },
        },
        after: { epoch: until, validators: withScores(last.atEnd), finalizedEpoch: after('finalized') },
        finalizedAfter: last.finalizedEpoch,
        readBlocks: blockReader({ rules, epochs }),
      },
    )
    lengths.add(until - from - 1)
  }
  assert.deepEqual(
    [...lengths].sort((a, b) => a - b),
    [1, 3, 4, 6, 11],
  )
})
