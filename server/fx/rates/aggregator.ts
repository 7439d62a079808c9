// A price feed on a chain, as its own words `latestRoundData` and `decimals` tell it. Pure: the two answers come in as
// hexadecimal words, a rate or a reason goes out.
//
// 1. A round counts when it was answered: a positive price, a time, and an answer that is not carried over from an
//    earlier round.
// 2. The price is the integer over ten to the feed's decimals, exactly.
import { formatDecimal } from '#core/decimal.ts'
import type { FxSource } from '#runtime/settings/fx.ts'
import type { RpcCall } from '#sources/evm/rpc.ts'
import { type ParsedRates, validateRate } from './rate-document.ts'

/** keccak256 of `latestRoundData()` and of `decimals()`, first four bytes. */
const latestRoundData = '0xfeaf968c'
const decimals = '0x313ce567'
const decimalsMax = 36n
const signBit = 1n << 255n

export const aggregatorCalls = (contract: string): readonly RpcCall[] => [
  {
    method: 'eth_call',
    params: [{ to: contract, data: latestRoundData }, 'latest'],
    validate: (raw) => validateWords(raw, 5),
  },
  {
    method: 'eth_call',
    params: [{ to: contract, data: decimals }, 'latest'],
    validate: (raw) => validateWords(raw, 1),
  },
]

function validateWords(raw: unknown, count: number): string | undefined {
  if (raw === '0x') return 'there is no such contract, or it is no price feed'
  return typeof raw === 'string' && new RegExp(`^0x[0-9a-f]{${count * 64}}$`, 'i').test(raw)
    ? undefined
    : `not ${count} words`
}

export function parseAggregatorResults(results: readonly unknown[], source: FxSource, nowMs: number): ParsedRates {
  const [round = '', decimalsHex = ''] = results as string[]
  const [roundId = 0n, answer = 0n, , updatedAt = 0n, answeredInRound = 0n] = decodeWords(round)
  const [scale = 0n] = decodeWords(decimalsHex)
  const about = source.pair ?? ''
  const refuse = (reason: string): ParsedRates => ({ rates: [], refused: [{ about, reason }] })
  if (scale > decimalsMax) return refuse(`the feed has ${scale} decimals`)
  if (answer === 0n || answer >= signBit) return refuse('the price is not above zero')
  if (updatedAt === 0n) return refuse('the round is not complete')
  if (answeredInRound < roundId) return refuse(`the answer is of round ${answeredInRound}, the round is ${roundId}`)
  const [base = '', quote = ''] = about.split('/')
  const rate = formatDecimal({ digits: answer, scale: Number(scale) })
  const read = validateRate({ source: source.id, base, quote, rate, atMs: Number(updatedAt) * 1000 }, nowMs)
  return 'reason' in read ? { rates: [], refused: [read] } : { rates: [read], refused: [] }
}

const decodeWords = (hex: string): readonly bigint[] =>
  (hex.slice(2).match(/.{64}/g) ?? []).map((word) => BigInt(`0x${word}`))
