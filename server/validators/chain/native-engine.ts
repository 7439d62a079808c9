// The native engine: the mainnet preset only, up to the fork that ./choose-engine.ts names. Its library has no protection
// against malformed bytes, which end the process, nor against slots in the far future, which it never reaches. So a block
// comes here only after the checks of ./check-block.ts, and encoded again by us.
import type { BeaconConfig } from '@lodestar/config'
import { ACTIVE_PRESET, DOMAIN_BEACON_PROPOSER, PresetName } from '@lodestar/params'
import { computeSigningRoot } from '@lodestar/state-transition'
import type { Engine, EngineKeys, EngineState } from './engine.ts'

type Library = typeof import('@chainsafe/lodestar-z')
type StateView = InstanceType<Library['BeaconStateView']>

/** The newest fork that the library knows. */
const forkMax = 'fulu'

/** Whether the library has the rules for a slot. */
export const canBeNative = (config: BeaconConfig, slot: number): boolean =>
  ACTIVE_PRESET === PresetName.mainnet && config.getForkSeq(slot) <= config.forks[forkMax].seq

/** Throws if there is no binary for this machine. */
export async function openNativeEngine(config: BeaconConfig): Promise<Engine> {
  const { default: library } = await import('@chainsafe/lodestar-z')
  const { BLS_VERIFIER_SET_TYPE, verifySignatureSets } = await import('@chainsafe/lodestar-z/bls-verifier')
  library.config.set(config, config.genesisValidatorsRoot)
  const wrap = (view: StateView): EngineState => ({
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
    advance: (slot) => wrap(view.processSlots(slot)),
    process: (block, verifySignatures) => {
      const bytes = config.getForkTypes(block.message.slot).SignedBeaconBlock.serialize(block)
      return wrap(
        view.stateTransition(bytes, false, { verifyStateRoot: false, verifyProposer: false, verifySignatures }),
      )
    },
    release: () => view.release(),
  })
  return {
    name: 'native',
    knows: (slot) => canBeNative(config, slot),
    keys: await openKeys(),
    load: (bytes) => wrap(library.BeaconStateView.createFromBytes(bytes)),
    verifyProposer: ({ message, signature }) => {
      const { slot, proposerIndex } = message
      const domain = config.getDomain(slot, DOMAIN_BEACON_PROPOSER, slot)
      return verifySignatureSets([
        {
          type: BLS_VERIFIER_SET_TYPE.indexed,
          index: proposerIndex,
          message: computeSigningRoot(config.getForkTypes(slot).BeaconBlock, message, domain),
          signature,
        },
      ])
    },
  }
}

const pubkeySize = 48

async function openKeys(): Promise<EngineKeys> {
  const { pubkeyCache } = await import('@chainsafe/lodestar-z/pubkeys')
  return {
    count: () => pubkeyCache.size,
    forget: () => pubkeyCache.reset(),
    save: (file) => pubkeyCache.save(file),
    load(file, countMax, pubkeys) {
      pubkeyCache.load(file, countMax)
      const compared = Math.min(pubkeyCache.size, pubkeys.length / pubkeySize)
      for (let index = 0; index < compared; index++) {
        const expected = pubkeys.subarray(index * pubkeySize, (index + 1) * pubkeySize)
        if (Buffer.compare(pubkeyCache.getPubkeyBytesOrThrow(index), expected) === 0) continue
        pubkeyCache.reset()
        throw new Error(`the key of validator ${index} is another one`)
      }
    },
  }
}
