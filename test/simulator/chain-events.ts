// What happens at the head of a simulated network, and the event stream of its nodes (`/eth/v1/events`).
import type { IncomingMessage, ServerResponse } from 'node:http'
import { builderText, signedBidJson } from '#simulator/beacon/gloas/encode-gloas.ts'
import type { SimulatedBid } from '#simulator/beacon/gloas/gloas-records.ts'
import type { NetworkPlan } from '#simulator/beacon/plan.ts'
import type { SimulatedBlock } from '#simulator/beacon/records.ts'

export type ChainEvent =
  | {
      /** The second one has the status of the payload. It is sent again when the payload arrives. */
      readonly topic: 'head' | 'head_v2'
      readonly block: SimulatedBlock
      readonly payload: 'empty' | 'full'
      /** The block is the first one of its epoch. */
      readonly isEpochTransition: boolean
      /** The last block before the previous epoch, and before the current one: duties depend on them. */
      readonly previousDependentRoot: string
      readonly currentDependentRoot: string
    }
  | {
      readonly topic: 'chain_reorg'
      readonly oldHead: SimulatedBlock
      readonly newHead: SimulatedBlock
      /** Slots from the last common block to the old head. */
      readonly depth: number
    }
  | { readonly topic: 'finalized_checkpoint'; readonly epoch: number; readonly root: string }
  | { readonly topic: PayloadTopic; readonly block: SimulatedBlock; readonly bid: SimulatedBid }

/** Since Gloas. */
type PayloadTopic = 'execution_payload_bid' | 'execution_payload' | 'execution_payload_available'

/** Of the Beacon API. Most of them are not simulated. */
const topicsBeforeGloas: readonly string[] = [
  ...['head', 'block', 'block_gossip', 'chain_reorg', 'finalized_checkpoint', 'attestation', 'single_attestation'],
  ...['voluntary_exit', 'bls_to_execution_change', 'proposer_slashing', 'attester_slashing', 'contribution_and_proof'],
  ...['light_client_finality_update', 'light_client_optimistic_update', 'payload_attributes', 'data_column_sidecar'],
]
const topicsSinceGloas: readonly string[] = [
  ...[...topicsBeforeGloas, 'head_v2', 'execution_payload_bid', 'execution_payload', 'execution_payload_available'],
  ...['execution_payload_gossip', 'payload_attestation_message', 'proposer_preferences', 'fast_confirmation'],
]

/** The topics that nodes know: of now, of versions from before Gloas, and of versions that dropped what is deprecated. */
const knownTopics = {
  now: topicsSinceGloas,
  'before Gloas': topicsBeforeGloas,
  'without head': topicsSinceGloas.filter((topic) => topic !== 'head'),
} as const
export type KnownTopics = keyof typeof knownTopics

export interface NetworkWithEvents {
  readonly plan: NetworkPlan
  /** Of its nodes. They refuse all others. */
  readonly topics: KnownTopics
  /** Returns a function that ends the subscription. */
  subscribe(listener: (event: ChainEvent) => void): () => void
}

/** State roots are zero in the simulator. */
const stateRoot = `0x${'00'.repeat(32)}`

/** Responds with the events of the requested topics until the client closes the connection. */
export function sendEvents(network: NetworkWithEvents, request: IncomingMessage, response: ServerResponse): void {
  const topics = new URL(request.url ?? '/', 'http://node').searchParams.getAll('topics')
  const requested = new Set(topics.flatMap((names) => names.split(',')))
  const unknown = [...requested].find((topic) => !knownTopics[network.topics].includes(topic))
  if (unknown !== undefined) {
    const body = JSON.stringify({ code: 400, message: `Invalid topic: ${unknown}` })
    response.writeHead(400, { 'content-type': 'application/json' }).end(body)
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  response.flushHeaders()
  const unsubscribe = network.subscribe((event) => {
    if (requested.has(event.topic))
      response.write(`event: ${event.topic}\ndata: ${JSON.stringify(eventJson(event, network.plan))}\n\n`)
  })
  response.on('close', () => unsubscribe())
}

function eventJson(event: ChainEvent, { slotsPerEpoch }: NetworkPlan): object {
  const epochOf = (slot: number) => String(Math.floor(slot / slotsPerEpoch))
  switch (event.topic) {
    case 'head':
      return {
        slot: String(event.block.slot),
        block: event.block.root,
        state: stateRoot,
        epoch_transition: event.isEpochTransition,
        previous_duty_dependent_root: event.previousDependentRoot,
        current_duty_dependent_root: event.currentDependentRoot,
        execution_optimistic: false,
      }
    case 'head_v2':
      return {
        version: event.block.fork,
        data: {
          slot: String(event.block.slot),
          block: event.block.root,
          state: stateRoot,
          payload_status: event.payload,
          epoch_transition: event.isEpochTransition,
          current_epoch_dependent_root: event.previousDependentRoot,
          next_epoch_dependent_root: event.currentDependentRoot,
          execution_optimistic: false,
        },
      }
    case 'execution_payload_bid':
      return { version: event.block.fork, data: signedBidJson(event.bid) }
    case 'execution_payload':
      return {
        ...{ slot: String(event.block.slot), builder_index: builderText(event.bid.builder) },
        ...{ block_hash: event.bid.blockHash, block_root: event.block.root, execution_optimistic: false },
      }
    case 'execution_payload_available':
      return { slot: String(event.block.slot), block_root: event.block.root }
    case 'chain_reorg':
      return {
        slot: String(event.newHead.slot),
        depth: String(event.depth),
        old_head_block: event.oldHead.root,
        new_head_block: event.newHead.root,
        old_head_state: stateRoot,
        new_head_state: stateRoot,
        epoch: epochOf(event.newHead.slot),
        execution_optimistic: false,
      }
    case 'finalized_checkpoint':
      return { block: event.root, state: stateRoot, epoch: String(event.epoch), execution_optimistic: false }
  }
}
