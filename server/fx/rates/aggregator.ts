// Reads a price feed contract with the Chainlink aggregator interface: `latestRoundData` and `decimals`. Pure: parses the
// results of the calls into a rate or the reason for a rejection.
//
// 1. A round is accepted if it has a positive price and a time, and its price is not carried over from an earlier round.
// 2. The node must be on the right chain and follow it: a node that has stopped would confirm its last price for as long
//    as that price is not stale, which is a day.
// 3. The price is exactly the integer divided by ten to the power of the feed's decimals.
import { formatAgeOf } from '#core/age.ts'
import { formatDecimal } from '#core/decimal.ts'
import type { FxSource } from '#runtime/settings/fx.ts'
import type { RpcCall } from '#sources/evm/rpc.ts'
import { type ParsedRates, toParsedRates, validateRate } from './rate-document.ts'

/** Function selectors of `latestRoundData()` and `decimals()`. */
const latestRoundData = '0xfeaf968c'
const decimals = '0x313ce567'
const decimalsMax = 36n
const signBit = 1n << 255n

export function aggregatorCalls(contract: string): readonly RpcCall[] {
  const call = (data: string, words: number): RpcCall => ({
    method: 'eth_call',
    params: [{ to: contract, data }, 'latest'],
    validate: (raw) => validateWords(raw, words),
  })
  return [
    call(latestRoundData, 5),
    call(decimals, 1),
    // With every poll: a node, or what is behind its URL, may change.
    { method: 'eth_chainId', params: [], validate: (raw) => (isQuantity(raw) ? undefined : 'the chain id is invalid') },
    {
      method: 'eth_getBlockByNumber',
      params: ['latest', false],
      validate: (raw) => (isQuantity(timestampOf(raw)) ? undefined : 'the newest block has no time'),
    },
  ]
}

const isQuantity = (value: unknown): value is string => typeof value === 'string' && /^0x[0-9a-f]{1,13}$/i.test(value)

const timestampOf = (block: unknown): unknown => (block as { timestamp?: unknown } | null)?.timestamp

/** Why the node cannot be trusted now: it is on another chain, or does not sync any more. Undefined: it can. */
export function findNodeProblem(
  [, , chainIdHex, block]: readonly unknown[],
  {
    chainId,
    blockMaxAgeMs,
    nowMs,
  }: { readonly chainId: number; readonly blockMaxAgeMs: number; readonly nowMs: number },
): string | undefined {
  const found = Number(chainIdHex)
  if (found !== chainId) return `is on chain ${found}, not ${chainId}`
  const ageMs = nowMs - Number(timestampOf(block)) * 1000
  if (blockMaxAgeMs === 0 || ageMs <= blockMaxAgeMs) return undefined
  return `newest block is ${formatAgeOf(ageMs)}; it does not sync any more (blockMaxAgeMs)`
}

function validateWords(raw: unknown, count: number): string | undefined {
  if (raw === '0x') return 'there is no contract at this address, or it is not a price feed'
  return typeof raw === 'string' && new RegExp(`^0x[0-9a-f]{${count * 64}}$`, 'i').test(raw)
    ? undefined
    : `the result is not ${count} words of 32 bytes`
}

export function parseAggregatorResults(results: readonly unknown[], source: FxSource, nowMs: number): ParsedRates {
  const [round = '', decimalsHex = ''] = results as string[]
  const [roundId = 0n, answer = 0n, , updatedAt = 0n, answeredInRound = 0n] = decodeWords(round)
  const [scale = 0n] = decodeWords(decimalsHex)
  const about = source.pair ?? ''
  const reject = (reason: string): ParsedRates => toParsedRates([{ about, reason }])
  if (scale > decimalsMax) return reject(`the feed has ${scale} decimals`)
  if (answer === 0n || answer >= signBit) return reject('the price is not above zero')
  if (updatedAt === 0n) return reject('the round is not complete')
  if (answeredInRound < roundId)
    return reject(`the price is from round ${answeredInRound}, the current round is ${roundId}`)
  const [base = '', quote = ''] = about.split('/')
  const rate = formatDecimal({ digits: answer, scale: Number(scale) })
  const atMs = Number(updatedAt) * 1000
  return toParsedRates([validateRate({ source: source.id, base, quote, rate, atMs }, nowMs)])
}

const decodeWords = (hex: string): readonly bigint[] =>
  (hex.slice(2).match(/.{64}/g) ?? []).map((word) => BigInt(`0x${word}`))
