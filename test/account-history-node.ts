// A simulated node whose chain is the history of one account. It records which blocks were requested.
import assert from 'node:assert/strict'
import { openNode } from '#explorer/nodes.ts'
import { systemClock } from '#runtime/clock.ts'
import { settingsWith } from './context.ts'

export const [me, payer] = ['11', '22'].map((pair) => `0x${pair.repeat(20)}`) as [string, string]
export const contractCode = '0x5f5f5f5f34335af1'
export const delegation = `0xef0100${'44'.repeat(20)}`
const word = (number: number) => `0x${number.toString(16).padStart(64, '0')}`
const hex = (number: number | bigint) => `0x${number.toString(16)}`

/** The state of the account from this block on, and the contents of the block. */
export interface AccountEvent {
  readonly block: number
  readonly nonce?: number
  readonly balance?: bigint | number
  readonly code?: string
  /** Wei that a transaction pays to the account. */
  readonly paid?: number
  /** Wei that the same transaction passes on to another address. */
  readonly passedOn?: number
  /** A transaction that the account sends, without value. */
  readonly sends?: true
  readonly withdrawnGwei?: number
  readonly mines?: true
  /** The account gets the reward of an uncle of this block. */
  readonly minesUncle?: true
}

export interface AccountHistoryOptions {
  readonly head?: number
  /** Undefined: the node reports no finalized block. */
  readonly final?: number | undefined
  /** The longest range of trace_filter. Default: the method does not exist. */
  readonly filterBlocks?: number
  /** Blocks that are missing from trace_filter. */
  readonly lacks?: readonly number[]
  readonly traces?: boolean
  readonly firstBlock?: number
}

interface TraceStep {
  readonly from: string
  readonly to: string
  readonly value: number
  readonly depth: readonly number[]
}

export function createAccountHistoryNode(events: readonly AccountEvent[], options: AccountHistoryOptions = {}) {
  const { head: headNumber = 100, traces = true, filterBlocks = 0, lacks = [], firstBlock = 0 } = options
  const finalNumber = 'final' in options ? options.final : 90
  const read: number[] = []
  const at = (block: number) => {
    const past = events.filter((event) => event.block <= block)
    return Object.assign({ nonce: 0, balance: 0, code: '0x' }, ...past) as Required<AccountEvent>
  }
  const eventAt = (number: number) => events.find(({ block }) => block === number)
  /** The steps of each transaction of a block. */
  const transactionsOf = (number: number): TraceStep[][] => {
    const { paid = 0, passedOn = 0, sends } = eventAt(number) ?? {}
    const incoming: TraceStep = { from: payer, to: me, value: paid, depth: [] }
    const outgoing: TraceStep = { from: me, to: payer, value: passedOn, depth: [0] }
    return [
      ...(paid + passedOn > 0 ? [passedOn > 0 ? [incoming, outgoing] : [incoming]] : []),
      ...(sends ? [[{ from: me, to: payer, value: 0, depth: [] }]] : []),
    ]
  }
  const hashOf = (number: number, index: number) => word(1000 + 10 * number + index)
  const blockOf = (number: number, full: boolean) => {
    const { withdrawnGwei, mines } = eventAt(number) ?? {}
    if (full) read.push(number)
    return {
      ...{ number: hex(number), hash: word(number + 1), parentHash: word(number), timestamp: hex(number) },
      ...(mines && { miner: me }),
      ...(withdrawnGwei && { withdrawals: [{ address: me, amount: hex(withdrawnGwei) }] }),
      transactions: transactionsOf(number).map(([top], index) => ({
        ...{ hash: hashOf(number, index), transactionIndex: hex(index), from: top?.from, to: top?.to },
        value: hex(top?.value ?? 0),
      })),
    }
  }
  const tracesOf = (number: number) =>
    transactionsOf(number).flatMap((steps, index) =>
      steps.map(({ from, to, value, depth }) => ({
        ...{ type: 'call', action: { callType: 'call', from, to, value: hex(value) }, traceAddress: depth },
        ...{ subtraces: depth.length === 0 ? steps.length - 1 : 0, transactionHash: hashOf(number, index) },
        ...{ result: { gasUsed: '0x0', output: '0x' }, blockNumber: number },
      })),
    )
  const filtered = ({ fromBlock, toBlock, toAddress, fromAddress }: Record<string, string>): unknown => {
    const [from, to] = [Number(fromBlock), Number(toBlock)]
    if (to - from >= filterBlocks) return undefined
    return events
      .filter(({ block }) => block >= from && block <= to && !lacks.includes(block))
      .flatMap(({ block }) => tracesOf(block))
      .filter(({ action }) => (toAddress ? action.to === toAddress[0] : action.from === fromAddress?.[0]))
  }
  const result = (method: string, [first, second]: string[]): unknown => {
    const number = first === 'latest' ? headNumber : first === 'finalized' ? finalNumber : Number(first)
    if (number === undefined) return undefined
    switch (method) {
      case 'eth_chainId':
        return '0x1'
      case 'eth_getBlockByNumber':
        return blockOf(number, (second as unknown) === true)
      case 'eth_getTransactionCount':
        return hex(at(Number(second)).nonce)
      case 'eth_getBalance':
        return hex(at(Number(second)).balance)
      case 'eth_getCode':
        return first === me ? at(Number(second)).code : '0x'
      case 'eth_getUncleCountByBlockNumber':
        return eventAt(number)?.minesUncle ? '0x1' : '0x0'
      case 'eth_getUncleByBlockNumberAndIndex':
        return { miner: me }
      case 'eth_getTransactionReceipt': {
        if (traces) return undefined
        const block = Math.floor((Number(first) - 1000) / 10)
        return { transactionHash: first, status: '0x1', blockHash: word(block + 1) }
      }
      case 'trace_filter':
        return filterBlocks > 0 ? filtered(first as unknown as Record<string, string>) : undefined
      case 'trace_block':
        return traces ? tracesOf(number) : undefined
      default:
        return undefined
    }
  }
  const [chain] = settingsWith({
    explorer: { chains: [{ id: '1', name: 'Life', firstBlock, rpc: [{ url: 'http://life/' }] }] },
  }).explorer.chains
  assert.ok(chain)
  const post = async (_: string, { body = '' }: { body?: string }) => {
    const reply = ({ id, method, params }: { id: number; method: string; params: string[] }) => {
      const value = result(method, params)
      return value === undefined
        ? { jsonrpc: '2.0', id, error: { code: -32601, message: 'no such method' } }
        : { jsonrpc: '2.0', id, result: value }
    }
    const request = JSON.parse(body)
    return JSON.stringify(Array.isArray(request) ? request.map(reply) : reply(request))
  }
  return { node: openNode(chain, { clock: systemClock }, { post, backoffMs: 0 }), post, read }
}
