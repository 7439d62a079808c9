// An execution node for the recorded chain that crosses the fork to Gloas, which has none: the payloads are those of the
// recording, and the fees follow from the slot. Also what this adds to the expected rows (gloas-rows.ts).
import { exchangesOf } from './beacon-replay.ts'
import { type GloasSlot, type GloasTruth, gloasRecording } from './gloas-recording.ts'
import { gloasSlotsPerEpoch } from './gloas-rows.ts'
import { serveScript } from './scripted-server.ts'
import type { Row } from './validators-reference.ts'

interface PayloadJson {
  readonly block_hash: string
  readonly parent_hash: string
  readonly fee_recipient: string
  readonly base_fee_per_gas: string
  readonly transactions: readonly string[]
}

interface BidJson {
  readonly fee_recipient: string
  readonly execution_payment: string
}

interface BlockJson {
  readonly message: {
    readonly body: {
      readonly execution_payload?: PayloadJson
      readonly signed_execution_payload_bid?: { readonly message: BidJson }
    }
  }
}

/** No payload pays this bid: too few validators voted for its block in time. */
const unpaidSlot = 133
const gasUsed = 21_000

function jsonAt<T>(path: string): T | undefined {
  const found = exchangesOf(`${gloasRecording}/exchanges.ndjson`).find(
    (exchange) => exchange.path === path && exchange.accept === 'application/json' && exchange.status === 200,
  )
  return found && (JSON.parse(found.body) as { data: T }).data
}

const blockAt = (slot: number) => jsonAt<BlockJson>(`/eth/v2/beacon/blocks/${slot}`)?.message.body
const payloadAt = (slot: number): PayloadJson | undefined =>
  blockAt(slot)?.execution_payload ??
  jsonAt<{ message: { payload: PayloadJson } }>(`/eth/v1/beacon/execution_payload_envelopes/${slot}`)?.message.payload

/** Gwei per gas that each transaction of a slot pays above the base fee. */
const tipGwei = (slot: number): number => (slot % 7) + 1

const isExecuted = ({ payload }: GloasSlot): boolean => payload === 'in block' || payload === 'full'

interface RpcRequest {
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}

/** The blocks of the execution chain: those whose payloads are part of the beacon chain. */
export function openGloasExecution({ slots }: GloasTruth) {
  const byHash = new Map(
    slots.filter(isExecuted).flatMap(({ slot }) => {
      const payload = payloadAt(slot)
      return payload ? [[payload.block_hash, { slot, payload }] as const] : []
    }),
  )
  const hex = (value: bigint | number) => `0x${value.toString(16)}`
  // Contract calls without value: no transaction pays the proposer.
  const transactionsOf = ({ slot, payload }: { slot: number; payload: PayloadJson }) =>
    payload.transactions.map((_, at) => ({
      ...{ hash: hex(0x1000 * (slot + 1) + at), from: `0x${'f0'.repeat(20)}`, to: `0x${'c0'.repeat(20)}` },
      ...{ value: '0x0', input: '0x01' },
    }))
  const results: Readonly<Record<string, (hash: string) => unknown>> = {
    eth_chainId: () => '0x5',
    eth_getBlockByHash(hash) {
      const found = byHash.get(hash)
      if (!found) return null
      const { block_hash, parent_hash, fee_recipient, base_fee_per_gas } = found.payload
      return {
        ...{ hash: block_hash, parentHash: parent_hash, miner: fee_recipient },
        ...{ baseFeePerGas: hex(BigInt(base_fee_per_gas)), transactions: transactionsOf(found) },
      }
    },
    eth_getBlockReceipts(hash) {
      const found = byHash.get(hash)
      const price = found && BigInt(found.payload.base_fee_per_gas) + BigInt(tipGwei(found.slot)) * 1_000_000_000n
      return found
        ? transactionsOf(found).map(({ hash: transactionHash }) => ({
            ...{ transactionHash, status: '0x1', gasUsed: hex(gasUsed), effectiveGasPrice: hex(price as bigint) },
          }))
        : null
    },
  }
  const reply = ({ id, method, params }: RpcRequest) => ({
    ...{ jsonrpc: '2.0', id },
    result: results[method]?.(String(params[0])) ?? null,
  })
  return serveScript(({ body }) => {
    const request = JSON.parse(body) as RpcRequest | RpcRequest[]
    return { body: Array.isArray(request) ? request.map(reply) : reply(request) }
  })
}

type Execution = Pick<Row, 'priority_fee' | 'baseline_mev' | 'external_reward'>

/** Undefined: unknown. Null: the payload is not part of the chain, and nobody pays. */
function executionAt(entry: GloasSlot, addresses: readonly string[]): Execution | undefined | null {
  const { slot, selfBuilt, bidValue = 0 } = entry
  const bid = blockAt(slot)?.signed_execution_payload_bid?.message
  if (!isExecuted(entry))
    return selfBuilt || slot === unpaidSlot
      ? null
      : { priority_fee: 0, baseline_mev: bidValue, external_reward: bidValue }
  const payload = payloadAt(slot)
  const fees = (payload?.transactions.length ?? 0) * gasUsed * tipGwei(slot)
  if (!bid || selfBuilt) return { priority_fee: fees, baseline_mev: 0, external_reward: 0 }
  if (Number(bid.execution_payment) > 0) return undefined
  const isOwn = [...addresses, bid.fee_recipient].some(
    (address) => address.toLowerCase() === payload?.fee_recipient.toLowerCase(),
  )
  const priority = isOwn ? fees : Math.min(fees, bidValue)
  return { priority_fee: priority, baseline_mev: bidValue - (isOwn ? 0 : priority), external_reward: bidValue }
}

/** `addressesOf`: the withdrawal addresses of a proposer. */
export function withExecution(
  { slots }: GloasTruth,
  rows: readonly Row[],
  addressesOf: (proposer: number) => readonly string[],
): Row[] {
  const paidAt = new Map(
    slots
      .filter(({ slot }) => slot > 0)
      .map((entry) => [entry, entry.proposed ? executionAt(entry, addressesOf(entry.proposer)) : null]),
  )
  const byEpoch = Map.groupBy(paidAt, ([{ slot }]) => Math.floor(slot / gloasSlotsPerEpoch))
  return rows.map((row) => {
    const paid = new Map(byEpoch.get(row.epoch))
    const known = [...paid.values()].filter((value) => value !== null && value !== undefined)
    const sumOf = (list: readonly Execution[], of: (value: Execution) => number) =>
      list.reduce((sum, value) => sum + of(value), 0)
    const total = sumOf(known, (value) => value.priority_fee + value.baseline_mev)
    const mean = known.length === 0 ? 0 : Math.floor(total / known.length)
    const proposals = [...paid].filter(([{ proposer }]) => proposer === row.validator).map(([, value]) => value)
    const rewards = proposals.filter((value) => value !== null && value !== undefined)
    return {
      ...row,
      execution_unknown: proposals.filter((value) => value === undefined).length,
      priority_fee: sumOf(rewards, (value) => value.priority_fee),
      baseline_mev: sumOf(rewards, (value) => value.baseline_mev),
      external_reward: sumOf(rewards, (value) => value.external_reward),
      missed_execution_reward: proposals.filter((value) => value === null).length * mean,
    }
  })
}
