// What the beacon clients keep and return, each synced from a checkpoint with default settings. Taken from their source,
// not from running nodes: a comment names the file, and docs/beacon-nodes.md the versions. Messages are shortened where
// they contain values that the simulator does not have.
import { archiveNode, type ChainView, gloasErrors, type NodeProfile, notFound } from '#simulator/beacon/node-profile.ts'

const fullNode: NodeProfile = { ...archiveNode, ssz: true, states: true, rewards: true }
const fromFinalized = ({ finalizedSlot }: ChainView): number => finalizedSlot
const fromCheckpoint = ({ checkpointSlot }: ChainView): number => checkpointSlot

/** `MIN_EPOCHS_FOR_BLOCK_REQUESTS`: five months. */
const blockEpochs = 33_024
const fromFiveMonthsAgo = ({ headSlot, slotsPerEpoch }: ChainView): number => headSlot - blockEpochs * slotsPerEpoch

const isTiming = (constant: string): boolean => constant.endsWith('_BPS') || constant.endsWith('_BPS_GLOAS')

const lighthouse: NodeProfile = {
  ...fullNode,
  version: 'Lighthouse/simulated',
  // chain_spec.rs, Config: none of the new constants in 5.3.0. Pull requests 8613 and 9812 add them one by one.
  listsConstant: (name) => name !== 'SLOT_DURATION_MS' && !isTiming(name),
  // beacon_chain.rs, state_root_at_slot: the root of the head state, which belongs to an earlier slot.
  emptyHead: 'of head block',
  // hot_cold_store.rs, get_historic_state_limits: nothing before the split slot, which follows finality.
  statesFromSlot: fromFinalized,
  // book/src/checkpoint-sync.md: backfill covers five months unless --genesis-backfill is set.
  blocksFromSlot: ({ checkpointSlot, slotsPerEpoch }) => checkpointSlot - blockEpochs * slotsPerEpoch,
  errors: {
    // http_api/src/state_id.rs, block_id.rs and lib.rs, with the prefix of warp_utils/src/reject.rs.
    state: [404, 'NOT_FOUND: beacon state at slot {id}'],
    'pruned state': [404, 'NOT_FOUND: beacon state at slot {id}'],
    block: [404, 'NOT_FOUND: beacon block at slot {id}'],
    validator: [404, 'NOT_FOUND: unknown validator: {id}'],
    endpoint: [404, 'NOT_FOUND'],
    // http_api/src/attester_duties.rs and proposer_duties.rs.
    duties: [400, 'BAD_REQUEST: request epoch {id} is more than one epoch past the current epoch'],
    'pruned duties': [404, 'NOT_FOUND: beacon state at slot {id}'],
    // http_api/src/lib.rs and sync_committee_rewards.rs.
    'attestation rewards': [404, 'NOT_FOUND: missing state at slot {id}'],
    'block rewards': [404, 'NOT_FOUND: Parent state is not available!'],
    // http_api/src/beacon/execution_payload_envelopes.rs: the same for blocks before Gloas.
    envelope: [404, 'NOT_FOUND: execution payload envelope for block root {id}'],
    'pruned envelope': [404, 'NOT_FOUND: execution payload envelope for block root {id}'],
    'early envelope': [404, 'NOT_FOUND: execution payload envelope for block root {id}'],
    // Not verified.
    builders: gloasErrors.builders,
    'early payload duties': gloasErrors['early payload duties'],
  },
  errorMembers: { stacktraces: [] },
}

const teku: NodeProfile = {
  ...fullNode,
  version: 'teku/simulated',
  // SpecConfigData.java, addDeprecatedFields: 26.8.0 still lists SECONDS_PER_SLOT; a comment announces its removal. Of the
  // constants that are neither in the preset nor in the configuration, it lists only some.
  listsConstant: (name) => name !== 'SECONDS_PER_SLOT' && !/^BUILDER_(INDEX|PAYMENT)_/.test(name),
  // StateSelectorFactory.java, slotSelector: no state after the head.
  emptyHead: 'missing',
  // StorageConfiguration.java: a new database has the mode MINIMAL, which stores no finalized states.
  statesFromSlot: fromFinalized,
  blocksFromSlot: fromFiveMonthsAgo,
  errors: {
    // AsyncApiResponse.java.
    state: [404, 'Not found'],
    'pruned state': [404, 'Not found'],
    block: [404, 'Not found'],
    'block rewards': [404, 'Not found'],
    validator: [404, 'Not found'],
    // Not verified.
    endpoint: [404, 'Not found'],
    // ValidatorApiHandler.java.
    duties: [400, 'Proposer duties were requested 2 epochs ahead, only 1 epoch in future is supported.'],
    // PostAttesterDuties.java and GetProposerDuties.java respond as if the node were syncing.
    'pruned duties': [503, 'Beacon node is currently syncing and not serving requests.'],
    // ChainDataProvider.java, calculateAttestationRewardsAtEpoch.
    'attestation rewards': [400, 'Invalid epoch range. Latest available epoch for reward calculation is <unknown>'],
    // GetExecutionPayloadEnvelope.java.
    envelope: [404, 'Not found'],
    'pruned envelope': [404, 'Not found'],
    'early envelope': [404, 'Not found'],
    // PostPtcDuties.java.
    'early payload duties': [400, 'Cannot request PTC duties for epochs prior to gloas fork.'],
    // Not verified.
    builders: gloasErrors.builders,
  },
}

const prysm: NodeProfile = {
  ...fullNode,
  version: 'Prysm/simulated',
  // stategen/replayer.go: replays blocks from the last saved state, then processes empty slots.
  statesFromSlot: fromCheckpoint,
  // Without --enable-backfill there are no blocks before the checkpoint.
  blocksFromSlot: fromCheckpoint,
  errors: {
    // lookup/stater.go and eth/shared/errors.go.
    state: [500, 'Could not get state: requested slot is in the future'],
    'pruned state': [404, 'State not found'],
    'pruned duties': [404, 'State not found'],
    'attestation rewards': [404, 'State not found'],
    'block rewards': [404, 'State not found'],
    // lookup/blocker.go.
    block: [404, 'Block not found: no blocks found at slot {id}'],
    // eth/validator/handlers.go and eth/beacon/handlers_validator.go.
    duties: [400, 'Request epoch {id} can not be greater than next epoch'],
    validator: [404, 'Unknown validator: {id}'],
    endpoint: notFound,
    // eth/beacon/handlers_gloas.go: payloads are read from the execution node, which may have pruned them.
    envelope: [404, 'execution payload envelope not found'],
    'pruned envelope': [500, 'could not reconstruct execution payload envelope: block not found'],
    'early envelope': [404, 'execution payload envelope not found'],
    // Not verified.
    builders: gloasErrors.builders,
    'early payload duties': gloasErrors['early payload duties'],
  },
  // config/params/config.go and eth/config/handlers.go.
  listsConstant: (name) => name !== 'BUILDER_INDEX_FLAG',
  // The router of Go's net/http.
  unknownPathText: '404 page not found\n',
}

const nimbus: NodeProfile = {
  ...fullNode,
  version: 'Nimbus/simulated',
  // rest_config_api.nim: both constants for the length of a slot since October 2025 (pull request 7662).
  listsConstant: (name) => !isTiming(name),
  // Added to rest_rewards_api.nim in August 2026.
  attestationRewards: false,
  // blockchain_dag.nim, EPOCHS_PER_STATE_SNAPSHOT: replays blocks from a state that is saved every 32 epochs. The client
  // also returns states of future slots up to the next epoch; the simulator does not.
  statesFromSlot: (chain) => Math.max(fromCheckpoint(chain), fromFiveMonthsAgo(chain)),
  // blockchain_dag.nim, pruneHistory.
  blocksFromSlot: fromFiveMonthsAgo,
  errors: {
    // rest_constants.nim.
    state: [404, 'Could not get requested state'],
    'pruned state': [404, 'Could not get requested state'],
    'attestation rewards': [404, 'Could not get requested state'],
    'block rewards': [404, 'Unable to load state for parent block, database corrupt?'],
    block: [404, 'Block header/data has not been found'],
    validator: [404, 'Could not find validator'],
    endpoint: notFound,
    // rest_validator_api.nim.
    duties: [400, 'Invalid epoch value'],
    'pruned duties': [400, 'Trying to access a pruned historical state'],
    // Not verified.
    ...gloasErrors,
  },
  // Not verified.
  unknownPathText: '',
}

const lodestar: NodeProfile = {
  ...fullNode,
  version: 'Lodestar/simulated',
  // chain.ts, getStateBySlot: from the finalized block.
  statesFromSlot: fromFinalized,
  // chain.ts, getAttestationsRewards: only from the cache, which has the states of 64 blocks (two epochs on mainnet).
  rewardStatesFromSlot: ({ headBlockSlot, slotsPerEpoch }) => headBlockSlot - 2 * slotsPerEpoch,
  // There is no backfill by default.
  blocksFromSlot: fromCheckpoint,
  errors: {
    // chain.ts throws these without a status, and rest/base.ts makes them 500.
    'pruned state': [500, 'Historical state regen is not enabled, set --serveHistoricalState to fetch this data'],
    'pruned duties': [500, 'Historical state regen is not enabled, set --serveHistoricalState to fetch this data'],
    'attestation rewards': [500, 'State is unavailable for slot {id}'],
    'block rewards': [500, "Pre-state is unavailable given block's parent root"],
    // state/utils.ts, blocks/utils.ts, validator/index.ts and rest/base.ts.
    state: [404, "State not found for id '{id}'"],
    block: [404, "No block found for id '{id}'"],
    validator: [404, 'Validator index from future state'],
    duties: [400, 'Cannot get duties for epoch more than one ahead'],
    endpoint: [404, 'Route GET:{id} not found'],
    // As recorded with version 1.48.0.
    envelope: [404, 'Execution payload envelope not found for slot={id}'],
    'pruned envelope': [404, 'Execution payload envelope not found for slot={id}'],
    'early envelope': [400, 'Execution payload envelopes are not available for pre-gloas fork=fulu, slot={id}'],
    builders: [400, 'Builders are not supported before Gloas'],
    'early payload duties': [400, 'PTC duties are not supported before Gloas fork=fulu'],
  },
}

const grandine: NodeProfile = {
  ...fullNode,
  version: 'Grandine/simulated',
  // types/src/config.rs: both constants for the length of a slot.
  listsConstant: (name) => !isTiming(name),
  // http_api/src/routing.rs has rewards for blocks and sync committees only.
  attestationRewards: false,
  // storage.rs, stored_state: replays blocks from a state that is saved every 32 epochs. The client also returns states of
  // future slots up to the next epoch; the simulator does not.
  statesFromSlot: fromCheckpoint,
  // Without --back-sync there are no blocks before the checkpoint.
  blocksFromSlot: (chain) => Math.max(fromCheckpoint(chain), fromFiveMonthsAgo(chain)),
  errors: {
    // http_api/src/error.rs.
    state: [404, 'state not found'],
    'pruned state': [404, 'state not found'],
    'pruned duties': [404, 'state not found'],
    'attestation rewards': [404, 'state not found'],
    'block rewards': [404, 'state not found'],
    block: [404, 'block not found'],
    validator: [404, 'validator not found'],
    // queries.rs, EpochTooFarInTheFuture, for attesters. The client computes proposers of any future epoch; the simulator
    // does not.
    duties: [500, 'internal error'],
    endpoint: notFound,
    // Not verified.
    ...gloasErrors,
  },
  // Not verified.
  unknownPathText: '',
}

export const profiles = { lighthouse, teku, prysm, nimbus, lodestar, grandine } as const
export type ClientName = keyof typeof profiles
