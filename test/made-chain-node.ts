// A beacon node of a chain that the library made (made-chain.ts). It has blocks, and the first state as long as it keeps it.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { blockFromSsz } from '#sources/beacon/block-ssz.ts'
import { epochAt, forkAt, readRules } from '#sources/beacon/consensus.ts'
import { View } from '#sources/beacon/ssz.ts'
import type { OpenedChain } from './made-chain.ts'

export interface MadeChainNode extends AsyncDisposable {
  readonly url: string
  /** `METHOD path` of every request. */
  readonly requests: string[]
  /** Of the bodies of all responses. */
  sentBytes: number
  /** The newest block that it returns. */
  head: number
  /** The epoch that it calls final. */
  finalized: number
  /** States by id (slot or root) that it returns. */
  readonly states: Map<string, Uint8Array>
  /** States are returned after it. */
  holdStates: Promise<void> | undefined
  /** Changes the bytes of a block before they are sent. Undefined: it does not return it. */
  alter: (slot: number, bytes: Uint8Array) => Uint8Array | undefined
}

const genesisTime = 1_700_000_000

export async function openMadeChainNode(chain: OpenedChain): Promise<MadeChainNode> {
  const { spec, genesisValidatorsRoot } = chain
  const rules = readRules(spec)
  const decode = (bytes: Uint8Array) => {
    const view = new View(bytes)
    const slot = view.u64(100)
    return blockFromSsz(view, forkAt(rules, epochAt(rules, slot)), rules)
  }
  const bySlot = new Map(chain.slots.map((slot) => [slot, chain.block(slot)]))
  const slotOf = new Map(Array.from(bySlot, ([slot, bytes]) => [decode(bytes).root, slot]))
  const node = {
    requests: [] as string[],
    sentBytes: 0,
    head: Math.max(...chain.slots),
    finalized: 0,
    states: new Map<string, Uint8Array>(),
    holdStates: undefined as Promise<void> | undefined,
    alter: (_: number, bytes: Uint8Array): Uint8Array | undefined => bytes,
  }
  const hex = (bytes: Uint8Array) => `0x${Buffer.from(bytes).toString('hex')}`
  const root = `0x${'00'.repeat(32)}`

  /** What an id names. Undefined: the slot is empty, or the block is not there yet. */
  function blockAt(id: string): { readonly slot: number; readonly bytes: Uint8Array } | undefined {
    const slot = id === 'head' ? chain.slots.findLast((at) => at <= node.head) : (slotOf.get(id) ?? Number(id))
    const bytes = slot === undefined || slot > node.head ? undefined : bySlot.get(slot)
    const sent = bytes && node.alter(slot as number, bytes)
    return sent && { slot: slot as number, bytes: sent }
  }

  function answer(path: string): Uint8Array | object | undefined {
    const [, blockId] = /^\/eth\/v2\/beacon\/blocks\/(\w+)$/.exec(path) ?? []
    if (blockId !== undefined) return blockAt(blockId)?.bytes
    const [, stateId] = /^\/eth\/v2\/debug\/beacon\/states\/(\w+)$/.exec(path) ?? []
    if (stateId !== undefined) return node.states.get(stateId)
    const [, headerId] = /^\/eth\/v1\/beacon\/headers\/(\w+)$/.exec(path) ?? []
    if (headerId !== undefined) {
      const found = blockAt(headerId)
      if (!found) return undefined
      const { bytes } = found
      const block = decode(bytes)
      const view = new View(bytes)
      const message = {
        slot: String(block.slot),
        proposer_index: String(view.u64(108)),
        parent_root: hex(bytes.subarray(116, 148)),
        state_root: hex(bytes.subarray(148, 180)),
        body_root: chain.bodyRoots[block.slot],
      }
      return { root: block.root, canonical: true, header: { message, signature: `0x${'00'.repeat(96)}` } }
    }
    const checkpoint = (epoch: number) => ({ epoch: String(epoch), root })
    if (path === '/eth/v1/beacon/states/head/finality_checkpoints')
      return {
        previous_justified: checkpoint(node.finalized + 1),
        current_justified: checkpoint(node.finalized + 1),
        finalized: checkpoint(node.finalized),
      }
    if (path === '/eth/v1/config/spec') return spec
    if (path === '/eth/v1/beacon/genesis')
      return {
        genesis_time: String(genesisTime),
        genesis_validators_root: genesisValidatorsRoot,
        genesis_fork_version: String(spec.GENESIS_FORK_VERSION),
      }
    if (path === '/eth/v1/node/syncing')
      return {
        head_slot: String(node.head),
        sync_distance: '0',
        is_syncing: false,
        is_optimistic: false,
        el_offline: false,
      }
    if (path === '/eth/v1/node/version') return { version: 'made-chain/1' }
    return undefined
  }

  const server = createServer(async (request, response) => {
    const path = request.url ?? ''
    node.requests.push(`${request.method} ${path}`)
    if (node.holdStates && path.includes('/debug/beacon/states/')) await node.holdStates
    const found = answer(path)
    const send = (body: Uint8Array) => {
      node.sentBytes += body.length
      response.end(body)
    }
    if (found instanceof Uint8Array) {
      response.setHeader('content-type', 'application/octet-stream')
      response.setHeader('eth-consensus-version', 'fulu')
      return send(found)
    }
    response.statusCode = found === undefined ? 404 : 200
    response.setHeader('content-type', 'application/json')
    send(Buffer.from(JSON.stringify(found === undefined ? { code: 404, message: 'not found' } : { data: found })))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return Object.assign(node, {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  })
}
