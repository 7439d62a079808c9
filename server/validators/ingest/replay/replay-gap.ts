// Computes epochs whose states no node has any more, from the state before them, the blocks, and the state after them.
//
// 1. Committees and proposers follow from RANDAO, so blocks are enough.
// 2. The result is used only if the state that is computed for the end of the gap equals the state that a node or
//    a record has there: balances to the gwei, effective balances, slashings, scores, queues and finality. So an incomplete rule or
//    an altered block leaves the gap, but never stores a wrong figure.

import type { Block } from '#sources/beacon/block.ts'
import { BeaconError } from '#sources/beacon/client.ts'
import { type ConsensusRules, epochAt, firstSlotAt } from '#sources/beacon/consensus.ts'
import { emptyPendingQueues } from '#sources/beacon/pending.ts'
import { credentialsSize } from '#sources/beacon/validator-keys.ts'
import type { Validators } from '#sources/beacon/validators.ts'
import type { EpochData } from '../read/epoch.ts'
import { scoresFrom } from '../rules/inactivity-scores.ts'
import { verifyRegistry } from '../rules/verify.ts'
import { verifyLink, verifyProposers } from '../rules/verify-blocks.ts'
import { type ChainReplay, type FullState, ReplayError, startReplay } from './chain-replay.ts'
import { type ComputedDuties, computeDuties } from './compute-duties.ts'
import { withdrawalRequests } from './execution-requests.ts'

export interface Gap {
  /** The last known state before the missing ones, at the first slot of an epoch after the genesis epoch. */
  readonly before: FullState
  /** The first known state after the missing ones, at the first slot of an epoch. Both states are final. */
  readonly after: {
    readonly epoch: number
    readonly validators: Validators
    readonly finalizedEpoch: number
  }
  /** At the end of the epoch `after.epoch`. */
  readonly finalizedAfter: number
  /** The blocks of an epoch in ascending order. Called for the epochs `before.epoch - 2` to `after.epoch`. */
  readonly readBlocks: (epoch: number) => Promise<readonly Block[]>
  /** The first block after the epoch `after.epoch`. Only needed if that epoch has no block. */
  readonly nextBlock?: Block | undefined
  /** Default: computed from RANDAO. */
  readonly duties?: ComputedDuties
}

/**
 * All epochs from `before.epoch` to the one before `after.epoch`. Throws a ReplayError that names the first difference if
 * the gap cannot be computed exactly.
 */
export async function replayGap(rules: ConsensusRules, gap: Gap): Promise<EpochData[]> {
  const { before, after } = gap
  const byEpoch = new Map<number, readonly Block[]>()
  for (let epoch = Math.max(0, before.epoch - 2); epoch <= after.epoch; epoch++)
    byEpoch.set(epoch, await gap.readBlocks(epoch))
  try {
    return replayEpochs(rules, gap, byEpoch)
  } catch (error) {
    // A BeaconError: what looks like a contradiction of a node may be an incomplete rule.
    if (!(error instanceof ReplayError || error instanceof BeaconError)) throw error
    const causes = [error.message, ...likelyCauses(rules, gap, [...byEpoch.values()].flat())]
    throw new ReplayError(
      `the states of epochs ${before.epoch + 1} to ${after.epoch - 1} cannot be computed from blocks: ${causes.join('; ')}`,
    )
  }
}

/** What is known not to be computed, if it concerns this gap. */
function likelyCauses(rules: ConsensusRules, { before, after }: Gap, blocks: readonly Block[]): string[] {
  const causes: string[] = []
  if (before.epoch <= 2)
    causes.push(
      'the committees of epochs 0 and 1 depend on RANDAO mixes from before genesis, which the first block may not have',
    )
  const partial = blocks.find((block) => {
    const epoch = epochAt(rules, block.slot)
    const isInTime = epoch >= before.epoch && epoch + rules.withdrawalEpochsMin <= after.epoch
    return isInTime && withdrawalRequests(block).some(({ isExit }) => !isExit)
  })
  if (partial)
    causes.push(
      `slot ${partial.slot} requests a partial withdrawal that can be paid in this gap, which is not computed`,
    )
  return causes
}

function replayEpochs(rules: ConsensusRules, gap: Gap, byEpoch: ReadonlyMap<number, readonly Block[]>): EpochData[] {
  const { before, after, nextBlock } = gap
  // The next block decides about the payload of the last one, and has the RANDAO mix of the empty slots before it.
  const allBlocks = [...byEpoch.values(), nextBlock ?? []].flat()
  for (const [at, block] of allBlocks.entries()) {
    const parent = allBlocks[at - 1]
    if (parent) verifyLink(epochAt(rules, block.slot), parent, block)
  }
  verifyRegistry({ epoch: before.epoch, atStart: before.validators, atEnd: after.validators, blocks: allBlocks })
  const duties = gap.duties ?? computeDuties(rules, before, allBlocks)
  const blocksOf = (epoch: number) => byEpoch.get(epoch) ?? []
  const blocksFrom = (epoch: number) => {
    const firstSlot = firstSlotAt(rules, epoch)
    const parent = allBlocks.findLast(({ slot }) => slot < firstSlot)
    return { blocks: blocksOf(epoch), nextBlocks: blocksOf(epoch + 1), parent }
  }
  const previousEpoch = before.epoch - 1
  const replay = startReplay(rules, before, after.validators, {
    ...blocksFrom(previousEpoch),
    committees: duties.committees(previousEpoch, before.validators),
  })
  const epochs: Omit<EpochData, 'finalizedEpoch'>[] = []
  /** At the first slot of the epoch after `before.epoch`, and of each further one. */
  const finalizedEpochs: number[] = []
  let previousValidators: Validators | undefined
  let atStart = before.validators
  for (let epoch = before.epoch; epoch < after.epoch; epoch++) {
    const committees = duties.committees(epoch, atStart)
    const sync = { now: duties.syncCommittee(epoch), next: duties.syncCommittee(epoch + 1) }
    const proposers = duties.proposers(epoch, atStart, previousValidators)
    verifyProposers(rules, epoch, blocksOf(epoch), proposers)
    const { validators: atEnd, withdrawals } = replay.applyEpoch({ ...blocksFrom(epoch), committees, sync })
    finalizedEpochs.push(replay.finalizedEpoch())
    const { blocks, nextBlocks, parent } = blocksFrom(epoch)
    const child =
      nextBlocks.length === 0 ? allBlocks.find(({ slot }) => slot >= firstSlotAt(rules, epoch + 2)) : undefined
    const links = { parent, child, withdrawals }
    epochs.push({ epoch, blocks: [...blocks, ...nextBlocks], proposers, committees, sync, atStart, atEnd, ...links })
    previousValidators = atStart
    atStart = atEnd
  }
  const difference = findDifference(replay, atStart, after)
  if (difference) throw new ReplayError(`at the first slot of epoch ${after.epoch}, ${difference}`)
  return epochs.map((data, at) => ({
    ...data,
    // The equal state of the node also has the scores.
    ...(data.epoch === after.epoch - 1 && { atEnd: after.validators }),
    finalizedEpoch: finalizedEpochs[at + 1] ?? gap.finalizedAfter,
  }))
}

/** The first difference between the computed state and that of the node. */
function findDifference(replay: ChainReplay, computed: Validators, { validators, finalizedEpoch }: Gap['after']) {
  const differ = (name: string, index: number, computedValue: unknown, node: unknown) =>
    `${name} of validator ${index} would be ${computedValue}, but the node has ${node}`
  if (computed.count !== validators.count)
    return `there would be ${computed.count} validators, but the node has ${validators.count}`
  for (let index = 0; index < computed.count; index++) {
    for (const [column, name] of comparedColumns) {
      const [computedValue, node] = [computed[column][index], validators[column][index]]
      if (computedValue !== node) return differ(name, index, computedValue, node)
    }
  }
  if (Buffer.compare(computed.credentials, validators.credentials) !== 0) {
    const at = computed.credentials.findIndex((byte, position) => byte !== validators.credentials[position])
    return `the credentials of validator ${Math.floor(at / credentialsSize)} differ from those of the node`
  }
  if (!validators.scores || !validators.pending) return 'the full state of the node is needed'
  const scores = scoresFrom(validators.scores)
  const computedScores = replay.scores()
  for (const index of new Set([...computedScores.keys(), ...scores.keys()])) {
    const [computedValue, node] = [computedScores.get(index) ?? 0, scores.get(index) ?? 0]
    if (computedValue !== node) return differ('the inactivity score', index, computedValue, node)
  }
  const { deposits, consolidations } = computed.pending ?? emptyPendingQueues
  if (Buffer.compare(deposits, validators.pending.deposits) !== 0) return 'the queue of pending deposits differs'
  // On real chains, new consolidations take effect much later than the end of the gap, so a missing one does not matter.
  const oldest = validators.pending.consolidations.subarray(0, consolidations.length)
  if (Buffer.compare(consolidations, oldest) !== 0) return 'the queue of pending consolidations differs'
  const [builders] = replay.builderDifferences(validators.payloads)
  if (builders) return builders
  if (replay.finalizedEpoch() !== finalizedEpoch)
    return `the finalized epoch would be ${replay.finalizedEpoch()}, but the node has ${finalizedEpoch}`
  return undefined
}

const comparedColumns = [
  ['balance', 'the balance in gwei'],
  ['increments', 'the effective balance in increments'],
  ['slashed', 'the slashed flag'],
] as const
