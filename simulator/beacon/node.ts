// A simulated beacon node: serves the Beacon API over HTTP for a simulated network, with optional features and faults.
//   await using node = await openNode(simulateNetwork('seed'), { ssz: true, faults: 0.05 })
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createSeededRandom } from '../seeded-random.ts'
import {
  blockBytes,
  blockJson,
  headerJson,
  pendingConsolidationsJson,
  pendingDepositsJson,
  stateBytes,
  validatorJson,
} from './encode.ts'
import { type SimulatedServer, startSimulatedServer } from './listen.ts'
import { specOf } from './plan.ts'
import {
  type EpochRecord,
  genesisHeader,
  genesisRoot,
  type SimulatedBlock,
  type SimulatedNetwork,
  type Snapshot,
} from './records.ts'
import { blockReward, syncRewards, voteRewards } from './rewards.ts'

export interface BeaconNodeOptions {
  /** Blocks as SSZ on request. */
  readonly ssz?: boolean
  /** Full states as SSZ. */
  readonly states?: boolean
  /** Pending deposits and consolidations; false: 404. */
  readonly queues?: boolean
  /** The rewards endpoints. */
  readonly rewards?: boolean
  /** 404 for the states of empty slots. */
  readonly forgetsEmpty?: boolean
  /** Share of the responses that fail: status 503, closed connections, truncated bodies. */
  readonly faults?: number
  /** States of earlier slots have been pruned, as well as duties of earlier epochs. Blocks are kept. */
  readonly statesFromSlot?: () => number
  /** Slots whose blocks are missing. */
  readonly lacks?: (slot: number) => boolean
  /** The reported finalized epoch; default: that of the network. */
  readonly finalized?: () => number
  /** Id of the execution chain. */
  readonly chainId?: string
}

export interface SimulatedBeaconNode extends SimulatedServer {
  requestCount(): number
}

type NodeResponse =
  | { readonly json: unknown; readonly version?: string }
  | { readonly bytes: Buffer; readonly version: string }
  | undefined

export async function openNode(
  network: SimulatedNetwork,
  options: BeaconNodeOptions = {},
): Promise<SimulatedBeaconNode> {
  const draws = createSeededRandom(`${network.seed}/faults`)
  const node = new BeaconNodeApi(network, options)
  let requestCount = 0
  const server = await startSimulatedServer(async (request, body, response) => {
    requestCount += 1
    if (draws.happens(options.faults ?? 0)) return fail(request, response, draws.whole(0, 3))
    send(response, await node.respond(request, body))
  }, '{"code":400,"message":"invalid request"}')
  return { ...server, requestCount: () => requestCount }
}

function fail(request: IncomingMessage, response: ServerResponse, kind: number): void {
  if (kind === 0) response.writeHead(503).end('{"code":503,"message":"not now"}')
  else if (kind === 1) request.socket.destroy()
  else response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":[{"index":"0","sl')
}

function send(response: ServerResponse, nodeResponse: NodeResponse): void {
  if (!nodeResponse) {
    response.writeHead(404, { 'content-type': 'application/json' }).end('{"code":404,"message":"not found"}')
    return
  }
  const version = nodeResponse.version === undefined ? {} : { 'eth-consensus-version': nodeResponse.version }
  if ('bytes' in nodeResponse) {
    response.writeHead(200, { 'content-type': 'application/octet-stream', ...version }).end(nodeResponse.bytes)
  } else {
    response
      .writeHead(200, { 'content-type': 'application/json', ...version })
      .end(JSON.stringify({ data: nodeResponse.json }))
  }
}

class BeaconNodeApi {
  readonly #network: SimulatedNetwork
  readonly #options: BeaconNodeOptions

  constructor(network: SimulatedNetwork, options: BeaconNodeOptions) {
    this.#network = network
    this.#options = options
  }

  async respond(request: IncomingMessage, body: string): Promise<NodeResponse> {
    const url = new URL(request.url ?? '/', 'http://node')
    const acceptsSsz = request.headers.accept?.includes('application/octet-stream') === true
    const [, , , area = '', kind = '', id = '', resource = '', validator = ''] = url.pathname.split('/')
    switch (`${area}/${kind}`) {
      case 'beacon/genesis':
        return { json: genesisOf(this.#network) }
      case 'config/spec':
        return { json: specOf(this.#network.plan, this.#options.chainId ?? '1') }
      case 'beacon/headers':
        return this.#header(id === 'head' ? await this.#headBlockSlot() : Number(id))
      case 'beacon/blocks':
        return this.#block(Number(id), acceptsSsz)
      case 'beacon/states':
        return this.#state(id, resource, validator, url.searchParams.get('epoch'))
      case 'debug/beacon':
        return this.#fullState(Number(resource))
      case 'beacon/rewards':
        return this.#options.rewards ? this.#reward(id, Number(resource), body) : undefined
      case 'validator/duties':
        return this.#hasStatesOf(Number(resource) * this.#network.plan.slotsPerEpoch)
          ? dutiesOf(await this.#epoch(Number(resource)), this.#network, id, body)
          : undefined
      default:
        return undefined
    }
  }

  async #epoch(epoch: number): Promise<EpochRecord | undefined> {
    return this.#network.epoch(epoch)
  }

  async #epochOfSlot(slot: number): Promise<EpochRecord | undefined> {
    const exists = slot >= 0 && slot <= this.#network.headSlot
    return exists ? this.#network.epoch(Math.floor(slot / this.#network.plan.slotsPerEpoch)) : undefined
  }

  async #blockAt(slot: number): Promise<SimulatedBlock | undefined> {
    return this.#options.lacks?.(slot) ? undefined : (await this.#epochOfSlot(slot))?.blocks.get(slot)
  }

  /** The slot of the newest block. */
  async #headBlockSlot(): Promise<number> {
    let slot = this.#network.headSlot
    while (slot > 0 && !(await this.#blockAt(slot))) slot -= 1
    return slot
  }

  #hasStatesOf(slot: number): boolean {
    return slot >= (this.#options.statesFromSlot?.() ?? 0)
  }

  async #header(slot: number): Promise<NodeResponse> {
    const block = await this.#blockAt(slot)
    if (!block && slot !== 0) return undefined
    const message = block ? headerJson(block, this.#network.plan) : genesisHeader
    const signature = `0x${'00'.repeat(96)}`
    return { json: { root: block?.root ?? genesisRoot, canonical: true, header: { message, signature } } }
  }

  async #block(slot: number, acceptsSsz: boolean): Promise<NodeResponse> {
    const block = await this.#blockAt(slot)
    if (!block) return undefined
    return this.#options.ssz && acceptsSsz
      ? { bytes: blockBytes(block), version: block.fork }
      : { json: blockJson(block), version: block.fork }
  }

  async #finalized(): Promise<number> {
    const head = await this.#epochOfSlot(this.#network.headSlot)
    return this.#options.finalized?.() ?? head?.states[0]?.finalized ?? 0
  }

  async #snapshot(slot: number): Promise<Snapshot | undefined> {
    if (!this.#hasStatesOf(slot)) return undefined
    const record = await this.#epochOfSlot(slot)
    if (this.#options.forgetsEmpty && slot !== 0 && !record?.blocks.has(slot)) return undefined
    return record?.states[slot % this.#network.plan.slotsPerEpoch]
  }

  async #state(id: string, resource: string, validator: string, requestedEpoch: string | null): Promise<NodeResponse> {
    const { slotsPerEpoch } = this.#network.plan
    const isHead = id === 'head'
    if (isHead && resource === 'finality_checkpoints') return checkpoints(await this.#finalized())
    const slot = isHead
      ? this.#network.headSlot
      : id === 'finalized'
        ? (await this.#finalized()) * slotsPerEpoch
        : Number(id)
    const state = await this.#snapshot(slot)
    if (!state) return undefined
    const record = await this.#epoch(
      requestedEpoch === null ? Math.floor(slot / slotsPerEpoch) : Number(requestedEpoch),
    )
    switch (resource) {
      case 'finality_checkpoints':
        return checkpoints(state.finalized)
      case 'validators':
        return validatorsOf(state, validator)
      case 'validator_balances':
        return {
          json: state.validators.map(({ balance }, index) => ({ index: String(index), balance: String(balance) })),
        }
      case 'pending_deposits':
        return this.#options.queues === false ? undefined : { json: pendingDepositsJson(state) }
      case 'pending_consolidations':
        return this.#options.queues === false ? undefined : { json: pendingConsolidationsJson(state) }
      case 'committees':
        return record && { json: committeesOf(record, this.#network) }
      case 'sync_committees':
        return record && { json: { validators: record.sync.map(String), validator_aggregates: [] } }
      default:
        return undefined
    }
  }

  async #fullState(slot: number): Promise<NodeResponse> {
    const state = this.#options.states ? await this.#snapshot(slot) : undefined
    return state && { bytes: stateBytes(slot, state, this.#network.plan), version: 'state' }
  }

  async #reward(kind: string, at: number, body: string): Promise<NodeResponse> {
    if (kind === 'attestations') {
      // The chain pays them at the start of the epoch after the next one.
      const requested = new Set((JSON.parse(body) as string[]).map(Number))
      const record = await this.#epoch(at + 2)
      return record && { json: voteRewards(record, requested) }
    }
    const block = await this.#blockAt(at)
    const seats = (await this.#epochOfSlot(at))?.sync ?? []
    if (!block) return undefined
    return { json: kind === 'blocks' ? blockReward(block) : syncRewards(block, seats) }
  }
}

const genesisOf = ({ genesisUnix }: SimulatedNetwork) => ({
  genesis_time: String(genesisUnix),
  genesis_validators_root: `0x${'22'.repeat(32)}`,
  genesis_fork_version: '0x00000000',
})

const checkpoints = (finalized: number): NodeResponse => ({
  json: { finalized: { epoch: String(finalized), root: genesisRoot } },
})

function validatorsOf({ validators }: Snapshot, id: string): NodeResponse {
  if (id === '') return { json: validators.map(validatorJson) }
  const index = id.startsWith('0x') ? validators.findIndex(({ pubkey }) => pubkey === id) : Number(id)
  const validator = validators[index]
  return validator && { json: validatorJson(validator, index) }
}

const committeesOf = ({ epoch, committees }: EpochRecord, { plan }: SimulatedNetwork) =>
  committees.map((members, at) => ({
    index: String(at % plan.committeesPerSlot),
    slot: String(epoch * plan.slotsPerEpoch + Math.floor(at / plan.committeesPerSlot)),
    validators: members.map(String),
  }))

function dutiesOf(
  record: EpochRecord | undefined,
  { plan }: SimulatedNetwork,
  kind: string,
  body: string,
): NodeResponse {
  if (!record) return undefined
  const first = record.epoch * plan.slotsPerEpoch
  if (kind === 'proposer') {
    return {
      json: record.proposers.map((index, at) => ({ slot: String(first + at), validator_index: String(index) })),
    }
  }
  const requested = new Set((JSON.parse(body) as string[]).map(Number))
  if (kind === 'sync') {
    const seats = Map.groupBy([...record.sync.entries()], ([, index]) => index)
    const duties = [...seats].filter(([index]) => requested.has(index))
    return {
      json: duties.map(([index, ownSeats]) => ({
        validator_index: String(index),
        validator_sync_committee_indices: ownSeats.map(([seat]) => String(seat)),
      })),
    }
  }
  return {
    json: record.committees.flatMap((members, at) =>
      members
        .map((index, position) => ({
          validator_index: String(index),
          committee_index: String(at % plan.committeesPerSlot),
          committee_length: String(members.length),
          committees_at_slot: String(plan.committeesPerSlot),
          validator_committee_index: String(position),
          slot: String(first + Math.floor(at / plan.committeesPerSlot)),
        }))
        .filter(({ validator_index }) => requested.has(Number(validator_index))),
    ),
  }
}
