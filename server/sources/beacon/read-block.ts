// A block as a node returns it, as SSZ or JSON. The node names the fork of the block.
import type { Block } from './block.ts'
import { blockFromJson, blockFromSsz } from './block-ssz.ts'
import { UnknownForkError } from './client.ts'
import { type ConsensusRules, epochAt, type Fork, forkAt, forks } from './consensus.ts'
import { type BeaconReply, dataOf } from './endpoint.ts'
import { readFields, UnscheduledForkError } from './json.ts'
import { View } from './ssz.ts'

/** `slot`: the requested one. */
export function readBlock(reply: BeaconReply, slot: number, rules: ConsensusRules): Block {
  const version = reply.version ?? (reply.is === 'json' ? readFields(reply.body, 'the response').version : undefined)
  const epoch = epochAt(rules, slot)
  const fork = version == null ? forkAt(rules, epoch) : parseFork(String(version), epoch)
  const block =
    reply.is === 'ssz'
      ? blockFromSsz(new View(reply.bytes), fork, rules)
      : blockFromJson(dataOf(reply.body), fork, rules)
  // Maybe the fork was scheduled after the node was asked for its constants. An error lets them be requested again.
  const scheduled = forkAt(rules, epochAt(rules, block.slot))
  if (fork !== scheduled)
    throw new UnscheduledForkError(`the block of slot ${block.slot} is of ${fork}, but ${scheduled} is scheduled`)
  return block
}

function parseFork(version: string, epoch: number): Fork {
  const name = version.toLowerCase()
  const fork = forks.find((known) => known === name)
  if (!fork) throw new UnknownForkError({ name, epoch })
  return fork
}
