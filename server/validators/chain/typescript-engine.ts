// The engine in TypeScript: all forks, any preset. It takes about four times the memory and five times the time of the
// native one, which only matters for large networks.
import type { BeaconConfig } from '@lodestar/config'
import {
  BeaconStateView,
  createCachedBeaconState,
  createPubkeyCache,
  DataAvailabilityStatus,
  ExecutionPayloadStatus,
  verifyProposerSignature,
} from '@lodestar/state-transition'
import type { Engine, EngineState } from './engine.ts'

export function openTypescriptEngine(config: BeaconConfig): Engine {
  // Decoded keys of all validators. All states share them.
  let pubkeyCache = createPubkeyCache()
  const wrap = (view: BeaconStateView): EngineState => ({
    slot: view.slot,
    validatorCount: view.validatorCount,
    latestBlockHeader: view.latestBlockHeader,
    previousJustifiedCheckpoint: view.previousJustifiedCheckpoint,
    currentJustifiedCheckpoint: view.currentJustifiedCheckpoint,
    finalizedCheckpoint: view.finalizedCheckpoint,
    get proposers() {
      return view.currentProposers
    },
    get committees() {
      return view.getCurrentShuffling().committees
    },
    get syncCommittee() {
      return view.currentSyncCommitteeIndexed.validatorIndices
    },
    root: () => view.hashTreeRoot(),
    serialize: () => view.serialize(),
    advance: (slot) => wrap(view.processSlots(slot) as BeaconStateView),
    process: (block, verifySignatures) =>
      wrap(
        view.stateTransition(
          block,
          {
            executionPayloadStatus: ExecutionPayloadStatus.valid,
            dataAvailabilityStatus: DataAvailabilityStatus.Available,
            verifyStateRoot: false,
            verifyProposer: false,
            verifySignatures,
          },
          {},
        ) as BeaconStateView,
      ),
    // The garbage collector frees it.
    release: () => {},
  })
  return {
    name: 'typescript',
    knows: () => true,
    keys: {
      count: () => pubkeyCache.size,
      forget: () => {
        pubkeyCache = createPubkeyCache()
      },
    },
    load(bytes, slot) {
      const state = config.getForkTypes(slot).BeaconState.deserializeToViewDU(bytes)
      return wrap(new BeaconStateView(createCachedBeaconState(state, { config, pubkeyCache })))
    },
    verifyProposer: (block) => verifyProposerSignature(config, pubkeyCache, block),
  }
}
