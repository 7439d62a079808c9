// Compares the answers of a network's beacon nodes with each other before epochs are stored
// (behaviour/validators.md#comparison-of-nodes).
//
// 1. Compared is the last block of the epoch. Its root covers all earlier blocks and its state.
// 2. A node that does not answer, is behind or does not have the data is not compared. That does not stop ingest. Such a
//    node is asked again some epochs later, so that it does not delay every epoch.
import { BeaconError, type SingleBeacon } from '#sources/beacon/client.ts'
import { type ConsensusRules, firstSlotAt } from '#sources/beacon/consensus.ts'
import { createBeaconQueries } from './beacon-queries.ts'

/** Two nodes return different answers about a final epoch. Nothing of it is stored. */
export class NodesDisagreeError extends BeaconError {
  override readonly name = 'NodesDisagreeError'
}

const restEpochs = 9

interface NodeAnswer {
  readonly name: string
  readonly slot: number
  readonly root: string
}

export class NodeComparison {
  /** By node: the reason why it is not asked before an epoch. */
  readonly #resting = new Map<string, { readonly untilEpoch: number; readonly reason: string }>()

  /** Returns which nodes were not compared and why. Throws a NodesDisagreeError. */
  async compare(
    nodes: readonly SingleBeacon[],
    rules: ConsensusRules,
    epoch: number,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const answers: NodeAnswer[] = []
    for (const node of nodes) {
      const resting = this.#resting.get(node.name)
      if (resting && epoch < resting.untilEpoch && epoch >= resting.untilEpoch - restEpochs) continue
      const knownFailure = resting ? undefined : node.beacon.health()[0]?.lastError
      const answer = knownFailure ?? (await ask(node, rules, epoch, signal))
      this.#resting.delete(node.name)
      if (typeof answer === 'string') this.#resting.set(node.name, { untilEpoch: epoch + restEpochs, reason: answer })
      else answers.push(answer)
    }
    refuseDifferences(epoch, answers)
    return nodes.flatMap(({ name }) => {
      const resting = this.#resting.get(name)
      return resting ? [`${name}: ${resting.reason}`] : []
    })
  }
}

/** A text: why the node cannot be compared. */
async function ask(
  { name, beacon, isDistrusted }: SingleBeacon,
  rules: ConsensusRules,
  epoch: number,
  signal: AbortSignal,
): Promise<NodeAnswer | string> {
  if (isDistrusted()) return 'it contradicted itself'
  const queries = createBeaconQueries(beacon, rules, signal)
  try {
    const finalized = await queries.finalizedEpoch('head')
    if (finalized === undefined || finalized <= epoch)
      return `it is behind; its finalized epoch is ${finalized ?? 'unknown'}`
    const first = firstSlotAt(rules, epoch)
    for (let slot = first + rules.slotsPerEpoch - 1; slot >= Math.max(first, 1); slot--) {
      const header = await queries.header(slot)
      if (header) return { name, slot, root: header.root }
    }
    return `it has no block of epoch ${epoch}`
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof BeaconError)) throw error
    return error.message
  }
}

function refuseDifferences(epoch: number, [one, ...others]: readonly NodeAnswer[]): void {
  if (!one) return
  const other = others.find(({ root }) => root !== one.root)
  if (!other) return
  throw new NodesDisagreeError(
    `epoch ${epoch}: ${one.name} and ${other.name} return different last blocks: ` +
      `${one.root} of slot ${one.slot} and ${other.root} of slot ${other.slot}`,
  )
}
