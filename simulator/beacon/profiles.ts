// What the beacon clients keep and return, each synced from a checkpoint with default settings. A comment names the file
// of the client from which a line is taken; docs/beacon-nodes.md has the versions.

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

export type Missing = 'state' | 'duties' | 'attestation rewards' | 'block rewards' | 'block' | 'endpoint' | 'validator'

export interface ErrorReply {
  readonly status: number
  /** JSON, or plain text if it is a string. */
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
  /** The rewards endpoint for attestations, if there are any. */
  readonly attestationRewards: boolean
  /** Has no states of empty slots. */
  readonly forgetsEmpty: boolean
  /** The state of an empty slot after the newest block: of that slot, of the newest block, or missing. */
  readonly emptyHead: 'advanced' | 'of head block' | 'missing'
  /** States of earlier slots have been pruned, as well as duties and block rewards of earlier epochs. */
  statesFromSlot(chain: ChainView): number
  /** Attestation rewards need a state of at least this slot. */
  rewardStatesFromSlot(chain: ChainView): number
  /** Earlier blocks are missing. */
  blocksFromSlot(chain: ChainView): number
  /** `id`: the slot of the missing state, the requested block or validator, or the path. */
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
  attestationRewards: true,
  forgetsEmpty: false,
  emptyHead: 'advanced',
  statesFromSlot: () => 0,
  rewardStatesFromSlot: () => 0,
  blocksFromSlot: () => 0,
  notFound: () => errorReply(404, 'not found'),
}

const fullNode: NodeProfile = { ...archiveNode, ssz: true, states: true, rewards: true }
const fromFinalized = ({ finalizedSlot }: ChainView): number => finalizedSlot
const fromCheckpoint = ({ checkpointSlot }: ChainView): number => checkpointSlot

/** `MIN_EPOCHS_FOR_BLOCK_REQUESTS`: five months. */
const blockEpochs = 33_024
const fromFiveMonthsAgo = ({ headSlot, slotsPerEpoch }: ChainView): number => headSlot - blockEpochs * slotsPerEpoch

const lighthouse: NodeProfile = {
  ...fullNode,
  version: 'Lighthouse/v8.0.1-ced49dd/x86_64-linux',
  // beacon_chain.rs, state_root_at_slot: the root of the head state, which belongs to an earlier slot.
  emptyHead: 'of head block',
  // beacon_chain.rs, get_historic_state_limits: states before the split slot are not stored.
  statesFromSlot: fromFinalized,
  rewardStatesFromSlot: fromFinalized,
  // Backfill ends at the weak subjectivity period unless --genesis-backfill is set. Blocks are not pruned.
  blocksFromSlot: ({ checkpointSlot, slotsPerEpoch }) => checkpointSlot - blockEpochs * slotsPerEpoch,
  // http_api/src/state_id.rs, block_id.rs, lib.rs and warp_utils/src/reject.rs.
  notFound: (missing, id) => {
    const texts: Record<Missing, string> = {
      state: `: beacon state at slot ${id}`,
      duties: `: beacon state at slot ${id}`,
      'attestation rewards': `: missing state at slot ${id}`,
      'block rewards': ': Parent state is not available!',
      block: id.startsWith('0x') ? `: beacon block with root ${id}` : `: beacon block at slot ${id}`,
      validator: `: unknown validator: ${id}`,
      endpoint: '',
    }
    return errorReply(404, `NOT_FOUND${texts[missing]}`, { stacktraces: [] })
  },
}

const teku: NodeProfile = {
  ...fullNode,
  version: 'teku/v26.8.0/linux-x86_64/openjdk-java-21',
  // StateSelectorFactory.java, slotSelector: no state after the head.
  emptyHead: 'missing',
  // StorageConfiguration.java: a new database has the mode MINIMAL, which stores no finalized states.
  statesFromSlot: fromFinalized,
  rewardStatesFromSlot: fromFinalized,
  blocksFromSlot: fromFiveMonthsAgo,
  notFound: (missing) => {
    // PostAttesterDuties.java and GetProposerDuties.java respond as if the node were syncing.
    if (missing === 'duties') return errorReply(503, 'Beacon node is currently syncing and not serving requests.')
    // ChainDataProvider.java, calculateAttestationRewardsAtEpoch.
    if (missing === 'attestation rewards')
      return errorReply(400, 'Invalid epoch range. Latest available epoch for reward calculation is <unknown>')
    // AsyncApiResponse.java.
    return errorReply(404, 'Not found')
  },
}

const prysm: NodeProfile = {
  ...fullNode,
  version: 'Prysm/v7.1.6 (linux amd64)',
  // stategen/replayer.go: replays blocks from the last saved state, then processes empty slots.
  statesFromSlot: fromCheckpoint,
  rewardStatesFromSlot: fromCheckpoint,
  // Without --enable-backfill there are no blocks before the checkpoint.
  blocksFromSlot: fromCheckpoint,
  notFound: (missing, id) => {
    // The router of Go's net/http.
    if (missing === 'endpoint') return { status: 404, body: '404 page not found\n' }
    // lookup/blocker.go and eth/shared/errors.go.
    if (missing === 'block') return errorReply(404, `Block not found: no blocks found at slot ${id}`)
    if (missing === 'validator') return errorReply(404, `Unknown validator: ${id}`)
    return errorReply(404, 'State not found')
  },
}

const nimbus: NodeProfile = {
  ...fullNode,
  version: 'Nimbus/v25.11.0-000000-stateofus',
  // Added to rest_rewards_api.nim in August 2026.
  attestationRewards: false,
  // blockchain_dag.nim, EPOCHS_PER_STATE_SNAPSHOT: replays blocks from a state that is saved every 32 epochs.
  statesFromSlot: (chain) => Math.max(fromCheckpoint(chain), fromFiveMonthsAgo(chain)),
  rewardStatesFromSlot: fromCheckpoint,
  // blockchain_dag.nim, pruneHistory.
  blocksFromSlot: fromFiveMonthsAgo,
  // rest_constants.nim, and rest_validator_api.nim for duties.
  notFound: (missing) => {
    if (missing === 'duties') return errorReply(400, 'Trying to access a pruned historical state')
    if (missing === 'block') return errorReply(404, 'Block header/data has not been found')
    if (missing === 'block rewards') return errorReply(404, 'Unable to load state for parent block, database corrupt?')
    if (missing === 'validator') return errorReply(404, 'Could not find validator')
    if (missing === 'endpoint') return { status: 404, body: '' }
    return errorReply(404, 'Could not get requested state', { stacktraces: ['History for given slot not available'] })
  },
}

const lodestar: NodeProfile = {
  ...fullNode,
  version: 'Lodestar/v1.36.0/000000',
  // chain.ts, getStateBySlot: from the finalized block.
  statesFromSlot: fromFinalized,
  // chain.ts, getAttestationsRewards: only from the cache, which has the states of 64 blocks (two epochs on mainnet).
  rewardStatesFromSlot: ({ headBlockSlot, slotsPerEpoch }) => headBlockSlot - 2 * slotsPerEpoch,
  // There is no backfill by default.
  blocksFromSlot: fromCheckpoint,
  notFound: (missing, id) => {
    // chain.ts throws these without a status, and rest/base.ts makes them 500.
    if (missing === 'state' || missing === 'duties')
      return errorReply(500, 'Historical state regen is not enabled, set --serveHistoricalState to fetch this data')
    if (missing === 'attestation rewards') return errorReply(500, `State is unavailable for slot ${id}`)
    if (missing === 'block rewards') return errorReply(500, "Pre-state is unavailable given block's parent root")
    // blocks/utils.ts, state/utils.ts and rest/base.ts.
    if (missing === 'block') return errorReply(404, `No block found for id '${id}'`)
    if (missing === 'validator') return errorReply(404, 'Validator index from future state')
    return errorReply(404, `Route GET:${id} not found`)
  },
}

const grandine: NodeProfile = {
  ...fullNode,
  version: 'Grandine/2.0.0-0000000/x86_64-linux',
  // http_api/src/routing.rs has rewards for blocks and sync committees only.
  attestationRewards: false,
  // storage.rs, stored_state: replays blocks from a state that is saved every 32 epochs.
  statesFromSlot: fromCheckpoint,
  rewardStatesFromSlot: fromCheckpoint,
  // Without --back-sync there are no blocks before the checkpoint.
  blocksFromSlot: (chain) => Math.max(fromCheckpoint(chain), fromFiveMonthsAgo(chain)),
  // http_api/src/error.rs.
  notFound: (missing) => {
    if (missing === 'block') return errorReply(404, 'block not found')
    if (missing === 'validator') return errorReply(404, 'validator not found')
    if (missing === 'endpoint') return { status: 404, body: '' }
    return errorReply(404, 'state not found')
  },
}

export const profiles = { lighthouse, teku, prysm, nimbus, lodestar, grandine } as const
export type ClientName = keyof typeof profiles
