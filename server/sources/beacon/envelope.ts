// Since Gloas: the envelope that the payload of a block is published in, by its builder and apart from the block. Nodes
// delete envelopes after some months, and return none for a payload that was withheld.
import type { Block, Payload } from './block.ts'
import { payloadFrom } from './block-ssz.ts'
import { blockTypeOf } from './block-type.ts'
import { type ConsensusRules, epochAt, forkAt } from './consensus.ts'
import { builderOf } from './gloas.ts'
import { InvalidResponseError, MismatchError } from './json.ts'
import { View } from './ssz.ts'

export interface Envelope {
  readonly blockRoot: string
  /** Undefined: the proposer built the payload itself. */
  readonly builder: number | undefined
  readonly payload: Payload
}

/** Throws a MismatchError if the envelope is not of this block, or not what its bid commits to. */
export function envelopeFromSsz(view: View, block: Block, rules: ConsensusRules): Envelope {
  const message = view.variable(0)
  const payloadView = message.variable(0, 4)
  const envelope: Envelope = {
    blockRoot: message.hex(16, 32),
    builder: builderOf(message.u64(8)),
    payload: payloadFrom(payloadView, forkAt(rules, epochAt(rules, block.slot))),
  }
  const { bid } = block
  if (!bid) throw new InvalidResponseError(`the block of slot ${block.slot} has no envelope`)
  const differ = (name: string): never => {
    throw new MismatchError(`the envelope of slot ${block.slot} has another ${name} than its block`)
  }
  if (envelope.blockRoot !== block.root) differ('block root')
  if (envelope.builder !== bid.builder) differ('builder')
  if (envelope.payload.hash !== bid.blockHash) differ('block hash')
  if (payloadView.hex(0, 32) !== bid.parentBlockHash) differ('parent hash')
  if (payloadView.u64(532) !== block.slot) differ('slot')
  if (Buffer.compare(envelope.payload.prevRandao, bid.prevRandao) !== 0) differ('RANDAO mix')
  return envelope
}

/** Converts JSON to SSZ, so that the same code reads both forms. */
export function envelopeFromJson(signed: unknown, block: Block, rules: ConsensusRules): Envelope {
  const { signedEnvelope } = blockTypeOf(forkAt(rules, epochAt(rules, block.slot)), rules)
  return envelopeFromSsz(new View(signedEnvelope.fromJson(signed, 'envelope')), block, rules)
}
