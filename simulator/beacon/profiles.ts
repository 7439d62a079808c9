// What the beacon clients keep and answer, each synced from a checkpoint with default settings. The sources of every line
// are in docs/beacon-nodes.md.

/** What a node knows about its chain when it answers a request. */
export interface ChainView {
  readonly slotsPerEpoch: number
  /** The current slot. */
  readonly headSlot: number
  /** The slot of the newest block. */
  readonly headBlockSlot: number
  /** First slot of the finalized epoch. */
  readonly finalizedSlot: number
  /** The slot of the checkpoint from which the node was synced. */
  readonly checkpointSlot: number
}

export type Missing = 'state' | 'block' | 'endpoint' | 'validator'

export interface ErrorReply {
  readonly status: number
  readonly body: unknown
}

export interface NodeProfile {
  /** As `/eth/v1/node/version` returns it. */
  readonly version: string
  /** Blocks as SSZ on request. */
  readonly ssz: boolean
  /** Full states as SSZ. */
  readonly states: boolean
  /** Pending deposits and consolidations. */
  readonly queues: boolean
  /** The rewards endpoints. */
  readonly rewards: boolean
  /** Has no states of empty slots. */
  readonly forgetsEmpty: boolean
  /** The state of an empty slot after the newest block: of that slot, of the newest block, or missing. */
  readonly emptyHead: 'advanced' | 'of head block' | 'missing'
  /** States of earlier slots have been pruned, as well as duties of earlier epochs. */
  statesFromSlot(chain: ChainView): number
  /** Earlier blocks have been pruned. */
  blocksFromSlot(chain: ChainView): number
  /** `id` is the requested slot, root, epoch or path. */
  notFound(missing: Missing, id: string): ErrorReply
}

const errorReply = (status: number, message: string, more = {}): ErrorReply => ({
  status,
  body: { code: status, message, ...more },
})

/** A node that keeps everything and offers the minimum of endpoints. */
export const archiveNode: NodeProfile = {
  version: 'Simulator/v1.0.0',
  ssz: false,
  states: false,
  queues: true,
  rewards: false,
  forgetsEmpty: false,
  emptyHead: 'advanced',
  statesFromSlot: () => 0,
  blocksFromSlot: () => 0,
  notFound: () => errorReply(404, 'not found'),
}

const lighthouse: NodeProfile = {
  ...archiveNode,
  version: 'Lighthouse/v8.0.0/x86_64-linux',
  ssz: true,
  states: true,
  rewards: true,
  // state_root_at_slot in beacon_chain.rs.
  emptyHead: 'of head block',
  // Finalized states are in the freezer database, which is empty without --reconstruct-historic-states.
  statesFromSlot: ({ finalizedSlot }) => finalizedSlot,
  // warp_utils/src/reject.rs, http_api/src/state_id.rs and block_id.rs.
  notFound: (missing, id) => {
    const texts = {
      state: `beacon state at slot ${id}`,
      block: `beacon block at slot ${id}`,
      validator: `unknown validator: ${id}`,
    }
    return errorReply(404, missing === 'endpoint' ? 'NOT_FOUND' : `NOT_FOUND: ${texts[missing]}`, { stacktraces: [] })
  },
}

export const profiles = { lighthouse } as const
