// What happens at the head of a simulated network, and the event stream of its nodes (`/eth/v1/events`).
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { NetworkPlan } from '#simulator/beacon/plan.ts'
import type { SimulatedBlock } from '#simulator/beacon/records.ts'

export type ChainEvent =
  | {
      readonly topic: 'head'
      readonly block: SimulatedBlock
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

export interface NetworkWithEvents {
  readonly plan: NetworkPlan
  /** Returns a function that ends the subscription. */
  subscribe(listener: (event: ChainEvent) => void): () => void
}

/** State roots are zero in the simulator. */
const stateRoot = `0x${'00'.repeat(32)}`

/** Responds with the events of the requested topics until the client closes the connection. */
export function sendEvents(network: NetworkWithEvents, request: IncomingMessage, response: ServerResponse): void {
  const topics = new URL(request.url ?? '/', 'http://node').searchParams.getAll('topics')
  const requested = new Set(topics.flatMap((names) => names.split(',')))
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
