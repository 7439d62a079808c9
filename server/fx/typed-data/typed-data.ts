// Builds the typed data that a taker signs (spec 2.2): a Permit2 transfer permit whose witness is the trade. Pure.
//
// 1. Amounts are base units of their token and always exact: above 2^53 they are bigint, which is an integer in JSON.
// 2. `base` is what the taker receives, `quote` what the taker pays.
import { type TypedData, typedDataTypes } from '#api/contract/wire/fx.ts'
import { checksumAddress } from '#core/checksum-address.ts'

export interface Leg {
  readonly contract: string
  /** In base units. */
  readonly amount: bigint
}

export interface Permit {
  readonly chainId: number
  readonly permit2: string
  readonly spender: string
  readonly quoteId: string
  readonly from: Leg
  readonly to: Leg
  readonly fee: bigint
  /** If 0, the whole `from` amount is permitted instead. */
  readonly collateral: bigint
  readonly recipient: string
  readonly nonce: number
  readonly maturitySeconds: number
}

export function buildTypedData(permit: Permit): TypedData {
  const { from, to, maturitySeconds: maturity } = permit
  return {
    domain: { name: 'Permit2', chainId: permit.chainId, verifyingContract: toSignableAddress(permit.permit2) },
    types: typedDataTypes,
    primaryType: 'PermitWitnessTransferFrom',
    message: {
      permitted: { token: toSignableAddress(from.contract), amount: toJsonInteger(permit.collateral || from.amount) },
      spender: toSignableAddress(permit.spender),
      nonce: permit.nonce,
      deadline: maturity,
      witness: {
        consideration: {
          quoteId: toBytes32(permit.quoteId),
          base: toSignableAddress(to.contract),
          quote: toSignableAddress(from.contract),
          baseAmount: to.amount.toString(),
          quoteAmount: from.amount.toString(),
          maturity,
        },
        fee: toJsonInteger(permit.fee),
        recipient: toSignableAddress(permit.recipient),
      },
    },
  }
}

/** The 16 bytes of a UUID, padded with zeros on the left. */
export const toBytes32 = (uuid: string): string => `0x${uuid.replaceAll('-', '').toLowerCase().padStart(64, '0')}`

/** Signing libraries reject mixed case with a wrong checksum, so such addresses are lowercased (behaviour/fx.md#typed-data). */
export function toSignableAddress(address: string): string {
  const known = signableCache.get(address)
  if (known !== undefined) return known
  const lower = address.toLowerCase()
  const result = address === lower || address === checksumAddress(address) ? address : lower
  if (signableCache.size >= signableCacheMax) signableCache.clear()
  signableCache.set(address, result)
  return result
}

/** A checksum takes as long as the rest of the pricing, and the same few addresses recur. */
const signableCache = new Map<string, string>()
const signableCacheMax = 4096

const toJsonInteger = (amount: bigint): number | bigint =>
  amount <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(amount) : amount
