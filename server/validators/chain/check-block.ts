// What is verified of a block before an engine gets it. The native engine ends its process with malformed bytes and never
// ends with a slot in the far future, so nothing that a node invented may reach it: the block is decoded, has the root
// that was asked for, belongs to a state that we hold, and is signed by the proposer of its slot.
import type { BeaconConfig } from '@lodestar/config'
import type { SignedBeaconBlock } from '@lodestar/types'
import { View } from '#sources/beacon/ssz.ts'
import type { BlockId, ProcessBlockInput, RefusalReason, RefusedBlock, Root } from './messages.ts'

/** No block of any network is longer. */
const blockBytesMax = 16 * 1024 * 1024
/** A signed block begins with the offset of the message and the signature; the message begins with the slot. */
const slotAt = 4 + 96
const headerEnd = slotAt + 8 + 8 + 32 + 32 + 4

export interface DecodedBlock extends BlockId {
  readonly signed: SignedBeaconBlock
  readonly parentRoot: Root
  readonly stateRoot: Root
}

/** The reason why a block is not accepted. */
export class Refusal extends Error {
  readonly refused: RefusedBlock

  constructor(
    reason: RefusalReason,
    message: string,
    block?: DecodedBlock,
    stateRoots?: { readonly stated: Root; readonly computed: Root },
  ) {
    super(message)
    this.refused = {
      is: 'refused',
      reason,
      message,
      ...(block && { block: { slot: block.slot, root: block.root, parentRoot: block.parentRoot } }),
      ...(stateRoots && { stateRoots }),
    }
  }
}

export const rootText = (bytes: Uint8Array): Root => `0x${Buffer.from(bytes).toString('hex')}`

/** Throws a Refusal. */
export function decodeBlock(config: BeaconConfig, { bytes, root, newestSlot }: ProcessBlockInput): DecodedBlock {
  if (bytes.length > blockBytesMax) throw new Refusal('malformed', `the block has ${bytes.length} bytes`)
  if (bytes.length < headerEnd) throw new Refusal('malformed', `the block has only ${bytes.length} bytes`)
  // Read alone, because the fork and so the type follow from it.
  const slot = new View(bytes).u64(slotAt)
  if (!(slot <= newestSlot))
    throw new Refusal('future', `the block is of slot ${slot}; the newest slot is ${newestSlot}`)
  const types = config.getForkTypes(slot)
  let signed: SignedBeaconBlock
  try {
    signed = types.SignedBeaconBlock.deserialize(bytes)
  } catch (error) {
    throw new Refusal('malformed', `the block of slot ${slot} cannot be decoded: ${(error as Error).message}`)
  }
  const { message } = signed
  const block: DecodedBlock = {
    signed,
    slot,
    root: rootText(types.BeaconBlock.hashTreeRoot(message)),
    parentRoot: rootText(message.parentRoot),
    stateRoot: rootText(message.stateRoot),
  }
  if (root !== undefined && root !== block.root)
    throw new Refusal('other-root', `the block has the root ${block.root}, not ${root}`, block)
  return block
}
