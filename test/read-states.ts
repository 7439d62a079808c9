// The states of a network for tests: those of the node, or computed from its blocks.
//   await using states = openStatesOf('computed', beacon)
import { systemClock } from '#runtime/clock.ts'
import type { Beacon } from '#sources/beacon/client.ts'
import type { Signatures } from '#validators/chain/messages.ts'
import { type ComputedProcessor, createComputedProcessor } from '#validators/ingest/epochs/computed-processor.ts'
import type { EpochData } from '#validators/ingest/read/epoch.ts'
import type { States } from '#validators/ingest/read/epoch-source.ts'
import { NodeStates } from '#validators/ingest/read/node-states.ts'

export const bothStates = ['node', 'computed'] as const
export type StatesKind = (typeof bothStates)[number]

const time = { epochsPerHour: 2, epochsPerDay: 4, daysKept: 1 }

/** `folder`: of the snapshots; undefined: a temporary one. */
export const openComputed = (beacon: Beacon, signatures: Signatures = 'none', folder?: string): ComputedProcessor =>
  createComputedProcessor(beacon, { clock: systemClock, folder, signatures, time })

export const openStatesOf = (kind: StatesKind, beacon: Beacon, signatures?: Signatures): States =>
  kind === 'node' ? new NodeStates(beacon) : openComputed(beacon, signatures)

const { signal } = new AbortController()

/** Call it for one epoch after the other. */
export const readEpoch = (states: States, epoch: number): Promise<EpochData> =>
  states.readFinal(epoch, signal, (epochs) => epochs.read(epoch))
