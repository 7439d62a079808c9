// Fills gaps of simulated networks from their blocks, and compares every figure with the one from the true states.
// Simulated committees do not follow RANDAO, so they are passed in; those of a recorded chain are computed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { type CompletedNetwork, simulateNetwork } from '#simulator/beacon/networks.ts'
import { openNode } from '#simulator/beacon/node.ts'
import type { Snapshot } from '#simulator/beacon/records.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { type ConsensusRules, epochAt, isFrom } from '#sources/beacon/consensus.ts'
import type { TransitionState } from '#sources/beacon/transition-state.ts'
import { type Carry, processEpoch } from '../epochs/process-epoch.ts'
import { Sums } from '../epochs/sums.ts'
import type { EpochData } from '../read/epoch.ts'
import { EpochReader } from '../read/epoch-reader.ts'
import { ReplayError } from './chain-replay.ts'
import { fillGap, type Gap } from './fill-gap.ts'
import type { GapDuties } from './gap-duties.ts'

interface ReadChain {
  readonly rules: ConsensusRules
  /** Read with all states. */
  readonly epochs: readonly EpochData[]
}

/** All finalized epochs of a network, from a node that has all states. */
async function readChain(network: CompletedNetwork): Promise<ReadChain> {
  await using node = await openNode(network, { ssz: true, states: true })
  const beacon = openBeacon({ network: 'hoodi', urls: [node.url], timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })
  const { rules } = await beacon.chain()
  const reader = new EpochReader(beacon, rules)
  const epochs: EpochData[] = []
  for (let epoch = 0; epoch < network.finalized - 1; epoch++) epochs.push(await reader.read(epoch))
  // The simulated chain applies three deposits per epoch.
  return { rules: { ...rules, pendingDepositsPerEpochMax: 3 }, epochs }
}

/** The duties of the simulated chain. */
const dutiesOf = ({ epochs }: ReadChain): GapDuties => ({
  committees: (epoch) => (epochs[epoch] as EpochData).committees,
  proposers: (epoch) => (epochs[epoch] as EpochData).proposers,
  syncCommittee: (epoch) => epochs[epoch]?.sync.now ?? (epochs[epoch - 1] as EpochData).sync.next,
})

/** What the SSZ of a simulated state does not have. */
function transitionAt({ epochs, snapshots }: CompletedNetwork, rules: ConsensusRules, epoch: number): TransitionState {
  const firstOf = (at: number) => epochs[at]?.states[0] as Snapshot
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
    const { validators } = epochs[end]?.states.at(-1) as Snapshot
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

/** The gap without the states of epochs from + 1 to until − 1. */
function gapOf(network: CompletedNetwork, chain: ReadChain, from: number, until: number): Gap {
  const { rules, epochs } = chain
  const last = epochs[until - 1] as EpochData
  return {
    before: { epoch: from, validators: (epochs[from] as EpochData).now, transition: transitionAt(network, rules, from) },
    after: {
      epoch: until,
      validators: last.next,
      finalizedEpoch: (network.epochs[until]?.states[0] as Snapshot).finalized,
    },
    finalizedAfter: last.finalizedEpoch,
    readBlocks: async (epoch) => {
      const { blocks } = (epochs[epoch] ?? epochs[epoch - 1]) as EpochData
      return blocks.filter(({ slot }) => epochAt(rules, slot) === epoch)
    },
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

test('explore', async () => {
  const reasons = new Map<string, number>()
  let filled = 0
  for (let seed = 0; seed < 40; seed++) {
    const network = simulateNetwork(`gap ${seed}`)
    if (network.finalized < 4) continue
    const chain = await readChain(network)
    const truth = figuresOf(chain.rules, chain.epochs, undefined)
    for (let from = 1; from < chain.epochs.length; from++) for (let until = from + 2; until <= chain.epochs.length; until++) {
      try {
        const { epochs } = await fillGap(chain.rules, gapOf(network, chain, from, until))
        const figures = figuresOf(chain.rules, epochs, truth[from - 1]?.carry)
        figures.forEach(({ sums, unexplained }, at) => {
          assert.deepEqual(sums, truth[from + at]?.sums)
          assert.deepEqual(unexplained, truth[from + at]?.unexplained)
        })
        filled++
      } catch (error) {
        if (!(error instanceof ReplayError)) throw error
        const k = error.message.replace(/\d+/g, 'N') + (isFrom(chain.rules,'electra',from) ? ' E': '')
        if (!reasons.has(k)) console.log(seed, from, until, error.message)
        reasons.set(k, (reasons.get(k) ?? 0) + 1)
      }
    }
  }
  console.log(filled, reasons)
})
