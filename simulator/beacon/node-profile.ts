// What a simulated beacon node keeps and returns. test/simulator/profiles.ts has the profiles of the known clients.

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

/**
 * What a request asks for in vain. `state` and `duties`: not there yet. `envelope`: the payload was not published.
 * `early …` and `builders`: before Gloas.
 */
const missing = [
  'state',
  'pruned state',
  'duties',
  'pruned duties',
  'attestation rewards',
  'block rewards',
  'block',
  'envelope',
  'pruned envelope',
  'early envelope',
  'builders',
  'early payload duties',
  'endpoint',
  'validator',
] as const
export type Missing = (typeof missing)[number]

/** Status and message. `{id}` is the requested slot, epoch, block, validator or path. */
export type ErrorText = readonly [status: number, message: string]

export interface NodeProfile {
  /** For `/eth/v1/node/version`. It names the client; no release is simulated exactly. */
  readonly version: string
  /** Whether `/eth/v1/config/spec` lists a constant. Default: all of them. */
  listsConstant?(name: string): boolean
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
  /** Attestation rewards need a state of at least this slot. Default: like `statesFromSlot`. */
  rewardStatesFromSlot?(chain: ChainView): number
  /** Earlier blocks are missing. */
  blocksFromSlot(chain: ChainView): number
  /** Envelopes of payloads, since Gloas. */
  readonly envelopes: boolean
  /** Envelopes of earlier slots have been pruned. */
  envelopesFromSlot(chain: ChainView): number
  readonly errors: Readonly<Record<Missing, ErrorText>>
  /** Members of error bodies besides `code` and `message`. */
  readonly errorMembers?: object
  /** The body for an unknown path, if it is not JSON. */
  readonly unknownPathText?: string
}

export const notFound: ErrorText = [404, 'not found']

/** As the Beacon API defines them. */
export const gloasErrors = {
  envelope: [404, 'Execution payload envelope not found'],
  'pruned envelope': [404, 'Execution payload envelope not found'],
  'early envelope': [400, 'Execution payload envelopes are not available before Gloas'],
  builders: [400, 'Builders are not supported before Gloas'],
  'early payload duties': [400, 'PTC duties are not supported before Gloas'],
} as const satisfies Partial<Record<Missing, ErrorText>>

/** A node that keeps everything. */
export const archiveNode: NodeProfile = {
  version: 'Simulator/v1.0.0',
  ssz: true,
  states: true,
  queues: true,
  rewards: false,
  attestationRewards: true,
  forgetsEmpty: false,
  emptyHead: 'advanced',
  statesFromSlot: () => 0,
  blocksFromSlot: () => 0,
  envelopes: true,
  envelopesFromSlot: () => 0,
  errors: {
    ...(Object.fromEntries(missing.map((kind) => [kind, notFound])) as NodeProfile['errors']),
    ...gloasErrors,
  },
}
