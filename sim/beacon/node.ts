// A simulated beacon node: the Beacon API over HTTP about a world, with the habits and the faults that its owner asks for.
//   await using node = await openNode(actWorld('seed'), { ssz: true, faults: 0.05 })
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { chance } from '../chance.ts'
import { blockBytes, blockJson, stateBytes, validatorJson } from './encode.ts'
import { specOf } from './plan.ts'
import type { Snapshot, World } from './records.ts'

export interface NodeHabits {
  /** Blocks as SSZ where asked for. */
  readonly ssz?: boolean
  /** Whole states as SSZ. */
  readonly states?: boolean
  /** Says 404 for the states of empty slots. */
  readonly forgetsEmpty?: boolean
  /** Part of the answers that fail: statuses of 500, cut connections, bodies that end too early. */
  readonly faults?: number
  /** Blocks that it does not have. */
  readonly lacks?: (slot: number) => boolean
  /** How far it claims finality; the world's own end otherwise. */
  readonly finalized?: () => number
}

export interface SimNode extends AsyncDisposable {
  readonly url: string
  asked(): number
}

type Answer =
  | { readonly json: unknown; readonly version?: string }
  | { readonly bytes: Buffer; readonly version: string }
  | undefined

export async function openNode(world: World, habits: NodeHabits = {}): Promise<SimNode> {
  const draws = chance(`${world.seed}/faults`)
  let asked = 0
  const server = createServer((request, response) => {
    asked += 1
    void read(request).then((body) => {
      if (draws.happens(habits.faults ?? 0)) return fail(request, response, draws.whole(0, 3))
      send(response, answerOf(world, habits, request, body))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: () => asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function read(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) text += chunk
  return text
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

function answerOf(world: World, habits: NodeHabits, request: IncomingMessage, body: string): Answer {
  const url = new URL(request.url ?? '/', 'http://node')
  const isSszWanted = request.headers.accept?.includes('application/octet-stream') === true
  const [, , , area = '', kind = '', id = '', what = ''] = url.pathname.split('/')
  const epoch = Number(url.searchParams.get('epoch') ?? id)
  switch (`${area}/${kind}`) {
    case 'beacon/genesis':
      return {
        json: {
          genesis_time: String(world.plan.genesisUnix),
          genesis_validators_root: `0x${'22'.repeat(32)}`,
          genesis_fork_version: '0x00000000',
        },
      }
    case 'config/spec':
      return { json: specOf(world.plan) }
    case 'beacon/headers':
      return headerOf(world, habits, Number(id))
    case 'beacon/blocks':
      return blockOf(world, habits, Number(id), isSszWanted)
    case 'beacon/states':
      return stateOf(world, habits, id, what, epoch)
    case 'debug/beacon':
      return wholeState(world, habits, Number(what))
    case 'validator/duties':
      return dutiesOf(world, id, Number(what), body)
    default:
      return undefined
  }
}

const genesisRoot = `0x${'11'.repeat(32)}`

function headerOf(world: World, habits: NodeHabits, slot: number): Answer {
  const block = habits.lacks?.(slot) ? undefined : world.blocks.get(slot)
  if (!block && slot !== 0) return undefined
  const message = {
    slot: String(slot),
    proposer_index: String(block?.proposer ?? 0),
    parent_root: block?.parentRoot ?? `0x${'00'.repeat(32)}`,
  }
  return { json: { root: block?.root ?? genesisRoot, canonical: true, header: { message, signature: '0x' } } }
}

function blockOf(world: World, habits: NodeHabits, slot: number, isSszWanted: boolean): Answer {
  const block = habits.lacks?.(slot) ? undefined : world.blocks.get(slot)
  if (!block) return undefined
  return habits.ssz && isSszWanted
    ? { bytes: blockBytes(block), version: block.fork }
    : { json: blockJson(block), version: block.fork }
}

function snapshotOf(world: World, habits: NodeHabits, slot: number): Snapshot | undefined {
  return habits.forgetsEmpty && slot !== 0 && !world.blocks.has(slot) ? undefined : world.snapshots[slot]
}

function stateOf(world: World, habits: NodeHabits, id: string, what: string, epoch: number): Answer {
  const { slotsPerEpoch, committeesPerSlot, syncPeriod } = world.plan
  if (id === 'head' && what === 'finality_checkpoints') return checkpoints(habits.finalized?.() ?? world.finalized)
  const state = snapshotOf(world, habits, Number(id))
  if (!state) return undefined
  switch (what) {
    case 'finality_checkpoints':
      return checkpoints(state.finalized)
    case 'validators':
      return { json: state.validators.map(validatorJson) }
    case 'validator_balances':
      return {
        json: state.validators.map(({ balance }, index) => ({ index: String(index), balance: String(balance) })),
      }
    case 'committees':
      return {
        json: world.committees[epoch]?.map((members, at) => ({
          index: String(at % committeesPerSlot),
          slot: String(epoch * slotsPerEpoch + Math.floor(at / committeesPerSlot)),
          validators: members.map(String),
        })),
      }
    case 'sync_committees':
      return { json: { validators: world.sync[Math.floor(epoch / syncPeriod)]?.map(String), validator_aggregates: [] } }
    default:
      return undefined
  }
}

const checkpoints = (finalized: number): Answer => ({
  json: { finalized: { epoch: String(finalized), root: genesisRoot } },
})

function wholeState(world: World, habits: NodeHabits, slot: number): Answer {
  const state = habits.states ? snapshotOf(world, habits, slot) : undefined
  return state && { bytes: stateBytes(slot, state, world.plan), version: 'state' }
}

function dutiesOf(world: World, kind: string, epoch: number, body: string): Answer {
  const { slotsPerEpoch, committeesPerSlot, syncPeriod } = world.plan
  const first = epoch * slotsPerEpoch
  if (kind === 'proposer') {
    return {
      json: world.proposers[epoch]?.map((index, at) => ({ slot: String(first + at), validator_index: String(index) })),
    }
  }
  const asked = new Set((JSON.parse(body) as string[]).map(Number))
  if (kind === 'sync') {
    const seats = Map.groupBy([...(world.sync[Math.floor(epoch / syncPeriod)] ?? []).entries()], ([, index]) => index)
    const duties = [...seats].filter(([index]) => asked.has(index))
    return {
      json: duties.map(([index, own]) => ({
        validator_index: String(index),
        validator_sync_committee_indices: own.map(([seat]) => String(seat)),
      })),
    }
  }
  return {
    json: world.committees[epoch]?.flatMap((members, at) =>
      members
        .map((index, place) => ({
          validator_index: String(index),
          committee_index: String(at % committeesPerSlot),
          committee_length: String(members.length),
          committees_at_slot: String(committeesPerSlot),
          validator_committee_index: String(place),
          slot: String(first + Math.floor(at / committeesPerSlot)),
        }))
        .filter(({ validator_index }) => asked.has(Number(validator_index))),
    ),
  }
}
