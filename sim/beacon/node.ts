// A simulated beacon node: the Beacon API over HTTP about a world, with the habits and the faults that its owner asks for.
//   await using node = await openNode(actWorld('seed'), { ssz: true, faults: 0.05 })
import type { IncomingMessage, ServerResponse } from 'node:http'
import { chance } from '../chance.ts'
import { openSimDoor, type SimDoor } from './door.ts'
import {
  blockBytes,
  blockJson,
  headerJson,
  pendingConsolidationsJson,
  pendingDepositsJson,
  stateBytes,
  validatorJson,
} from './encode.ts'
import { specOf } from './plan.ts'
import { type EpochRecord, genesisHeader, genesisRoot, type SimBlock, type Snapshot, type World } from './records.ts'
import { blockReward, syncRewards, voteRewards } from './rewards.ts'

export interface NodeHabits {
  /** Blocks as SSZ where asked for. */
  readonly ssz?: boolean
  /** Whole states as SSZ. */
  readonly states?: boolean
  /** Pending deposits and consolidations as JSON; unless set to false. */
  readonly queues?: boolean
  /** Tells what it paid. */
  readonly rewards?: boolean
  /** Says 404 for the states of empty slots. */
  readonly forgetsEmpty?: boolean
  /** Part of the answers that fail: statuses of 500, cut connections, bodies that end too early. */
  readonly faults?: number
  /** Blocks that it does not have. */
  readonly lacks?: (slot: number) => boolean
  /** How far it claims finality; the world's own otherwise. */
  readonly finalized?: () => number
  /** Of the execution side. */
  readonly chainId?: string
}

export interface SimNode extends SimDoor {
  asked(): number
}

type Answer =
  | { readonly json: unknown; readonly version?: string }
  | { readonly bytes: Buffer; readonly version: string }
  | undefined

export async function openNode(world: World, habits: NodeHabits = {}): Promise<SimNode> {
  const draws = chance(`${world.seed}/faults`)
  const node = new Node(world, habits)
  let asked = 0
  const door = await openSimDoor(async (request, body, response) => {
    asked += 1
    if (draws.happens(habits.faults ?? 0)) return fail(request, response, draws.whole(0, 3))
    send(response, await node.answer(request, body))
  }, '{"code":400,"message":"the question makes no sense"}')
  return { ...door, asked: () => asked }
}

function fail(request: IncomingMessage, response: ServerResponse, how: number): void {
  if (how === 0) response.writeHead(503).end('{"code":503,"message":"not now"}')
  else if (how === 1) request.socket.destroy()
  else response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":[{"index":"0","sl')
}

function send(response: ServerResponse, answer: Answer): void {
  if (!answer) {
    response.writeHead(404, { 'content-type': 'application/json' }).end('{"code":404,"message":"not found"}')
    return
  }
  const version = answer.version === undefined ? {} : { 'eth-consensus-version': answer.version }
  if ('bytes' in answer) {
    response.writeHead(200, { 'content-type': 'application/octet-stream', ...version }).end(answer.bytes)
  } else {
    response
      .writeHead(200, { 'content-type': 'application/json', ...version })
      .end(JSON.stringify({ data: answer.json }))
  }
}

class Node {
  readonly #world: World
  readonly #habits: NodeHabits

  constructor(world: World, habits: NodeHabits) {
    this.#world = world
    this.#habits = habits
  }

  async answer(request: IncomingMessage, body: string): Promise<Answer> {
    const url = new URL(request.url ?? '/', 'http://node')
    const isSszWanted = request.headers.accept?.includes('application/octet-stream') === true
    const [, , , area = '', kind = '', id = '', what = '', one = ''] = url.pathname.split('/')
    switch (`${area}/${kind}`) {
      case 'beacon/genesis':
        return { json: genesisOf(this.#world) }
      case 'config/spec':
        return { json: specOf(this.#world.plan, this.#habits.chainId ?? '1') }
      case 'beacon/headers':
        return this.#header(Number(id))
      case 'beacon/blocks':
        return this.#block(Number(id), isSszWanted)
      case 'beacon/states':
        return this.#state(id, what, one, url.searchParams.get('epoch'))
      case 'debug/beacon':
        return this.#wholeState(Number(what))
      case 'beacon/rewards':
        return this.#habits.rewards ? this.#reward(id, Number(what), body) : undefined
      case 'validator/duties':
        return dutiesOf(await this.#epoch(Number(what)), this.#world, id, body)
      default:
        return undefined
    }
  }

  async #epoch(epoch: number): Promise<EpochRecord | undefined> {
    return this.#world.epoch(epoch)
  }

  async #epochOfSlot(slot: number): Promise<EpochRecord | undefined> {
    const isThere = slot >= 0 && slot <= this.#world.headSlot
    return isThere ? this.#world.epoch(Math.floor(slot / this.#world.plan.slotsPerEpoch)) : undefined
  }

  async #blockAt(slot: number): Promise<SimBlock | undefined> {
    return this.#habits.lacks?.(slot) ? undefined : (await this.#epochOfSlot(slot))?.blocks.get(slot)
  }

  async #header(slot: number): Promise<Answer> {
    const block = await this.#blockAt(slot)
    if (!block && slot !== 0) return undefined
    const message = block ? headerJson(block, this.#world.plan) : genesisHeader
    const signature = `0x${'00'.repeat(96)}`
    return { json: { root: block?.root ?? genesisRoot, canonical: true, header: { message, signature } } }
  }

  async #block(slot: number, isSszWanted: boolean): Promise<Answer> {
    const block = await this.#blockAt(slot)
    if (!block) return undefined
    return this.#habits.ssz && isSszWanted
      ? { bytes: blockBytes(block), version: block.fork }
      : { json: blockJson(block), version: block.fork }
  }

  async #finalized(): Promise<number> {
    const head = await this.#epochOfSlot(this.#world.headSlot)
    return this.#habits.finalized?.() ?? head?.states[0]?.finalized ?? 0
  }

  async #snapshot(slot: number): Promise<Snapshot | undefined> {
    const record = await this.#epochOfSlot(slot)
    if (this.#habits.forgetsEmpty && slot !== 0 && !record?.blocks.has(slot)) return undefined
    return record?.states[slot % this.#world.plan.slotsPerEpoch]
  }

  async #state(id: string, what: string, one: string, epochAsked: string | null): Promise<Answer> {
    const { slotsPerEpoch } = this.#world.plan
    const isHead = id === 'head'
    if (isHead && what === 'finality_checkpoints') return checkpoints(await this.#finalized())
    const slot = isHead
      ? this.#world.headSlot
      : id === 'finalized'
        ? (await this.#finalized()) * slotsPerEpoch
        : Number(id)
    const state = await this.#snapshot(slot)
    if (!state) return undefined
    const record = await this.#epoch(epochAsked === null ? Math.floor(slot / slotsPerEpoch) : Number(epochAsked))
    switch (what) {
      case 'finality_checkpoints':
        return checkpoints(state.finalized)
      case 'validators':
        return validatorsOf(state, one)
      case 'validator_balances':
        return {
          json: state.validators.map(({ balance }, index) => ({ index: String(index), balance: String(balance) })),
        }
      case 'pending_deposits':
        return this.#habits.queues === false ? undefined : { json: pendingDepositsJson(state) }
      case 'pending_consolidations':
        return this.#habits.queues === false ? undefined : { json: pendingConsolidationsJson(state) }
      case 'committees':
        return record && { json: committeesOf(record, this.#world) }
      case 'sync_committees':
        return record && { json: { validators: record.sync.map(String), validator_aggregates: [] } }
      default:
        return undefined
    }
  }

  async #wholeState(slot: number): Promise<Answer> {
    const state = this.#habits.states ? await this.#snapshot(slot) : undefined
    return state && { bytes: stateBytes(slot, state, this.#world.plan), version: 'state' }
  }

  async #reward(kind: string, at: number, body: string): Promise<Answer> {
    if (kind === 'attestations') {
      // Paid when the next epoch but one begins.
      const asked = new Set((JSON.parse(body) as string[]).map(Number))
      const record = await this.#epoch(at + 2)
      return record && { json: voteRewards(record, asked) }
    }
    const block = await this.#blockAt(at)
    const seats = (await this.#epochOfSlot(at))?.sync ?? []
    if (!block) return undefined
    return { json: kind === 'blocks' ? blockReward(block) : syncRewards(block, seats) }
  }
}

const genesisOf = ({ genesisUnix }: World) => ({
  genesis_time: String(genesisUnix),
  genesis_validators_root: `0x${'22'.repeat(32)}`,
  genesis_fork_version: '0x00000000',
})

const checkpoints = (finalized: number): Answer => ({
  json: { finalized: { epoch: String(finalized), root: genesisRoot } },
})

function validatorsOf({ validators }: Snapshot, one: string): Answer {
  if (one === '') return { json: validators.map(validatorJson) }
  const index = one.startsWith('0x') ? validators.findIndex(({ pubkey }) => pubkey === one) : Number(one)
  const validator = validators[index]
  return validator && { json: validatorJson(validator, index) }
}

const committeesOf = ({ epoch, committees }: EpochRecord, { plan }: World) =>
  committees.map((members, at) => ({
    index: String(at % plan.committeesPerSlot),
    slot: String(epoch * plan.slotsPerEpoch + Math.floor(at / plan.committeesPerSlot)),
    validators: members.map(String),
  }))

function dutiesOf(record: EpochRecord | undefined, { plan }: World, kind: string, body: string): Answer {
  if (!record) return undefined
  const first = record.epoch * plan.slotsPerEpoch
  if (kind === 'proposer') {
    return {
      json: record.proposers.map((index, at) => ({ slot: String(first + at), validator_index: String(index) })),
    }
  }
  const asked = new Set((JSON.parse(body) as string[]).map(Number))
  if (kind === 'sync') {
    const seats = Map.groupBy([...record.sync.entries()], ([, index]) => index)
    const duties = [...seats].filter(([index]) => asked.has(index))
    return {
      json: duties.map(([index, own]) => ({
        validator_index: String(index),
        validator_sync_committee_indices: own.map(([seat]) => String(seat)),
      })),
    }
  }
  return {
    json: record.committees.flatMap((members, at) =>
      members
        .map((index, place) => ({
          validator_index: String(index),
          committee_index: String(at % plan.committeesPerSlot),
          committee_length: String(members.length),
          committees_at_slot: String(plan.committeesPerSlot),
          validator_committee_index: String(place),
          slot: String(first + Math.floor(at / plan.committeesPerSlot)),
        }))
        .filter(({ validator_index }) => asked.has(Number(validator_index))),
    ),
  }
}
