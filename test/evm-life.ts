// A node whose chain is the life of one account, written down block by block, and what it was asked for.
import assert from 'node:assert/strict'
import { openNode } from '#groups/explorer/node.ts'
import { systemClock } from '#io/clock.ts'
import { settingsWith } from './desk.ts'

export const [me, payer, inert] = ['11', '22', '33'].map((pair) => `0x${pair.repeat(20)}`) as [string, string, string]
export const spends = '0x5f5f5f5f34335af1'
export const keeps = '0x00'
const word = (number: number) => `0x${number.toString(16).padStart(64, '0')}`
const hex = (number: number) => `0x${number.toString(16)}`

/** What is true of the account from this block on. `paid`: one wei came in it, whatever the state says at its end. */
export interface Moment {
  readonly block: number
  readonly nonce?: number
  readonly balance?: number
  readonly code?: string
  readonly paid?: true
}

export interface LifeOptions {
  readonly head?: number
  /** undefined: the node names no final block. */
  readonly final?: number | undefined
  /** Steps into and out of the account, as trace_filter lists them; undefined: refused. Without it there is no such method. */
  readonly lists?: (from: number, to: number) => readonly object[] | undefined
  readonly traces?: boolean
}

export function lifeOf(life: readonly Moment[], options: LifeOptions = {}) {
  const { head: headNumber = 100, traces = true, lists } = options
  const finalNumber = 'final' in options ? options.final : 90
  const read: number[] = []
  const at = (block: number) => {
    const past = life.filter((one) => one.block <= block)
    return Object.assign({ nonce: 0, balance: 0, code: '0x' }, ...past) as Required<Moment>
  }
  const blockOf = (number: number, full: boolean) => {
    const tx = { hash: word(1000 + number), transactionIndex: '0x0', from: payer, to: me, value: '0x1' }
    const paid = life.some((one) => one.block === number && one.paid)
    if (full) read.push(number)
    const named = { number: hex(number), hash: word(number + 1), parentHash: word(number), timestamp: hex(number) }
    return { ...named, transactions: paid ? [tx] : [] }
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
        return first === me ? at(Number(second)).code : first === inert ? keeps : '0x'
      case 'eth_getTransactionReceipt':
        return traces ? undefined : { transactionHash: first, status: '0x1', blockHash: word(Number(first) - 1000 + 1) }
      case 'trace_filter': {
        const { fromBlock, toBlock } = first as unknown as { fromBlock: string; toBlock: string }
        return lists?.(Number(fromBlock), Number(toBlock))
      }
      case 'trace_block': {
        if (!traces) return undefined
        const action = { callType: 'call', from: payer, to: me, value: '0x1' }
        return [{ type: 'call', action, traceAddress: [], subtraces: 0, transactionHash: word(1000 + number) }]
      }
      default:
        return undefined
    }
  }
  const [chain] = settingsWith({
    explorer: { chains: [{ id: '1', name: 'Life', rpc: [{ url: 'http://life/' }] }] },
  }).explorer.chains
  assert.ok(chain)
  const post = async (_: string, { body = '' }: { body?: string }) => {
    const reply = ({ id, method, params }: { id: number; method: string; params: string[] }) => {
      const answer = result(method, params)
      return answer === undefined
        ? { jsonrpc: '2.0', id, error: { code: -32601, message: 'no such method' } }
        : { jsonrpc: '2.0', id, result: answer }
    }
    const asked = JSON.parse(body)
    return JSON.stringify(Array.isArray(asked) ? asked.map(reply) : reply(asked))
  }
  return { node: openNode(chain, { clock: systemClock }, { post, restMs: 0 }), post, read }
}
